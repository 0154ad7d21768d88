"""Submit a custom job: check the request, fill in defaults, write the plan, record the job.

A job's record is committed before its supervisor starts, so that no process is ever without a record.

Seen in the service's answers: every pool with replicas gets a boot disk. Everything else is stored as it was
sent, trailing empty pools included, except for empty messages. The machines with another type of disk come
from Vertex AI documentation, "Configure compute resources for serverless training".
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.admin import ClusterContract
from vertex_emulator.jobs.custom.checks import image_rules, limitations, validation
from vertex_emulator.jobs.custom.queue.queue import Queue
from vertex_emulator.jobs.custom.reconciler import Reconciler
from vertex_emulator.jobs.custom.stale_objects import StaleObjects
from vertex_emulator.jobs.custom.store import CUSTOM_JOB, CUSTOM_JOBS
from vertex_emulator.kernel import machine_clock, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.images.resolution import Images
from vertex_emulator.replicas.images.stand_ins import WAIT
from vertex_emulator.replicas.network.setting import ReplicaNetwork
from vertex_emulator.replicas.plan import DEFAULT_TIMEOUT, Addition, Plan, ReplicaPlan
from vertex_emulator.replicas.preparation import services
from vertex_emulator.replicas.sandbox.mounts import file_shares
from vertex_emulator.replicas.sandbox.probe import probe
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine import names
from vertex_emulator.services.resource_engine.server_owned import without_server_owned
from vertex_training.job import custom_job
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import Replica, is_reduction_server_image, replicas

_DISK, _SIZE = "pd-ssd", 100
_HYPERDISK = "hyperdisk-balanced"
_HYPERDISK_MACHINES = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})
_MAY_BE_EMPTY = ("scheduling", "psc_interface_config")


def fill_in(job_spec: DynamicMessage) -> None:
    """Fill in the service's defaults of a `CustomJobSpec` message that has been checked."""
    for pool in job_spec.worker_pool_specs:
        if pool.replica_count:
            hyperdisk = pool.machine_spec.machine_type in _HYPERDISK_MACHINES
            pool.disk_spec.boot_disk_type = pool.disk_spec.boot_disk_type or (
                _HYPERDISK if hyperdisk else _DISK
            )
            pool.disk_spec.boot_disk_size_gb = pool.disk_spec.boot_disk_size_gb or _SIZE
    for name in _MAY_BE_EMPTY:
        if not getattr(job_spec, name).ListFields():
            job_spec.ClearField(name)


def without_skipped_pools(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job in its JSON form with `{}` for every pool without replicas."""
    spec = dict(job["jobSpec"])
    spec["workerPoolSpecs"] = [
        pool if int(pool.get("replicaCount", 0)) else {} for pool in spec["workerPoolSpecs"]
    ]
    return {**job, "jobSpec": spec}


def replica_plans(
    spec: CustomJobSpec, found: Mapping[str, ReplicaImage], sandbox: Sandbox, timeouts: DaemonTimeouts
) -> tuple[ReplicaPlan, ...]:
    """Return the plan of each replica. `found` has the image for each image name in the job."""
    shares = [file_shares.shares_of(pool) for pool in spec.worker_pool_specs]
    return tuple(
        _plan(each, spec.worker_pool_specs[each.pool], found, sandbox, shares[each.pool], timeouts)
        for each in replicas(spec.worker_pool_specs)
    )


def lines(spec: CustomJobSpec, *, data_dir: Path) -> tuple[str, ...]:
    """Return log lines about the fields of a job that have another effect here than on Google Cloud."""
    return limitations.lines(spec, file_shares.all_shares(spec.worker_pool_specs), data_dir)


def _plan(
    replica: Replica,
    pool: WorkerPoolSpec,
    found: Mapping[str, ReplicaImage],
    sandbox: Sandbox,
    shares: tuple[file_shares.Share, ...],
    timeouts: DaemonTimeouts,
) -> ReplicaPlan:
    package, container = pool.python_package_spec, pool.container_spec
    if container is not None:
        image = found[container.image_uri]
        argv = container_argv(image, container.command, container.args)
        if image.root == "host" and is_reduction_server_image(container.image_uri):
            argv = WAIT
        uri = container.image_uri
    elif package is not None:
        image = found[package.executor_image_uri]
        argv = ("python3", "-m", package.python_module, *package.args)
        uri = package.executor_image_uri
    else:
        raise ValueError(f"worker pool {replica.pool} has no task")
    return ReplicaPlan(
        name=replica.name,
        role=str(replica.role),
        pool=replica.pool,
        index=replica.index,
        argv=argv,
        notice=image_rules.notice(uri, image, sandbox, accelerators=_accelerators(pool), timeouts=timeouts),
        package_uris=package.package_uris if package and not container else (),
        image=image,
        shares=shares,
    )


def container_argv(image: ReplicaImage, command: tuple[str, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line of a container.

    `command` replaces the image's entrypoint and drops the image's own command; `args` replace that command.
    Only the job's words are expanded, so references in the image's words are escaped. Sources: Vertex AI
    documentation, "Custom containers for training"; Kubernetes has the same rules.
    """
    if command:
        return (*command, *args)
    own = (*image.entrypoint, *(() if args else image.command))
    return (*(word.replace("$(", "$$(") for word in own), *args)


def _accelerators(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None or machine.accelerator_type is None or not machine.accelerator_count:
        return ""
    return f"{machine.accelerator_count} x {machine.accelerator_type}"


log = logging.getLogger(__name__)

_AFTER_START_SECONDS = 2.0
"""Seconds from the start of an emulator to the trial of its sandbox, unless a job comes first."""


@dataclass(frozen=True, kw_only=True)
class JobDefaults:
    """Settings that all jobs of an emulator share. Times are in seconds.

    `environment` is added to the variables of every replica.
    """

    data_dir: Path
    buckets_dir: Path
    environment: Mapping[str, str]
    grace_seconds: float
    restart_seconds: float
    log_limit: int
    timeouts: DaemonTimeouts


def _probe_folder(data_dir: Path) -> Path | None:
    """Return the folder in which to try how replicas are started: one on the disk of the data folder.

    None is the folder of temporary files, which is preferred: nobody else deletes or replaces it.
    """
    with contextlib.suppress(OSError):
        if Path(tempfile.gettempdir()).stat().st_dev != data_dir.stat().st_dev:
            return data_dir
    return None


class JobSubmitter:
    """Checks and submits the jobs of one emulator. If `sandbox` is None, it is found by trying."""

    def __init__(
        self,
        defaults: JobDefaults,
        *,
        images: Images,
        reconciler: Reconciler,
        queue: Queue,
        contract: ClusterContract,
        network: ReplicaNetwork,
        stale_objects: StaleObjects,
        clock: Clock,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._defaults = defaults
        self._images = images
        self._reconciler = reconciler
        self._queue = queue
        self._contract = contract
        self._network = network
        self._stale_objects = stale_objects
        self._clock = clock
        self._sandbox = sandbox
        self._sandbox_lock = threading.Lock()

    def sandbox(self) -> Sandbox:
        """Return how replicas are started here. The first call finds out, which takes about 0.1 s."""
        with self._sandbox_lock:
            if self._sandbox is None:
                self._sandbox = probe(
                    _probe_folder(self._defaults.data_dir), timeouts=self._defaults.timeouts
                )
                log.info("Replicas run in %s", self._sandbox.describe())
            return self._sandbox

    def find_sandbox_soon(self, scheduler: Scheduler) -> None:
        """Find out without a job when the emulator's start is over: the first job need not wait for it."""
        if self._sandbox is not None:
            return
        at = machine_clock.monotonic() + _AFTER_START_SECONDS

        def find() -> Next:
            left = at - machine_clock.monotonic()
            if left > 0:
                return Next(seconds=left)
            self.sandbox()
            return Next()

        scheduler.add("trial of the sandbox", find)

    def check(
        self, place: Place, job: DynamicMessage, *, allow_unknown_types: bool
    ) -> Mapping[str, ReplicaImage]:
        """Check whether a `CustomJob` message can run in a location. Return its images. Raises `RpcError`."""
        validation.check(job, location=place.location, allow_unknown_types=allow_unknown_types)
        images = validation.check_images(job, self._images, self.sandbox())
        validation.check_size(job)
        if not self.sandbox().shows_gcs:
            validation.check_mount(job, why=self.sandbox().reason)
            validation.check_shares(job, why=self.sandbox().reason)
        if job.job_spec.persistent_resource_id:
            filled = descriptors.message(CUSTOM_JOB)
            filled.CopyFrom(job)
            fill_in(filled.job_spec)
            self._queue.allocator.check(place, filled)
        return images

    def submit(
        self,
        place: Place,
        request: DynamicMessage,
        *,
        addition: Addition,
        job_id: str,
        allow_unknown_types: bool,
    ) -> DynamicMessage:
        """Check and record a job under a new id, and start or queue it. Return its message.

        Raises `RpcError`.
        """
        job = without_server_owned(request)
        images = self.check(place, job, allow_unknown_types=allow_unknown_types)
        job.name = names.name_of(place, CUSTOM_JOBS.id, job_id)
        fill_in(job.job_spec)
        store.begin(job, at=times.now(self._clock))
        folder = self._reconciler.folder(job_id)
        try:
            self._make_folder(folder, place, job_id, job, images, addition)
            self._queue.add(place, job_id, job)
        except RpcError:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise cannot_write(self._defaults.data_dir, error) from error
        return job

    def _make_folder(
        self,
        folder: JobFolder,
        place: Place,
        job_id: str,
        job: DynamicMessage,
        images: Mapping[str, ReplicaImage],
        addition: Addition,
    ) -> None:
        document = without_skipped_pools(json_format.MessageToDict(job, descriptor_pool=descriptors.pool()))
        try:
            spec = custom_job.from_wire(document)
        except ValueError as error:
            raise RpcError("INVALID_ARGUMENT", f"The job cannot be read: {error}.") from error
        url, proxy = services.emulator_addresses(self._defaults.data_dir)
        plan = Plan(
            job=job.name,
            job_id=job_id,
            project_number=place.number,
            location=place.location,
            timeout=document["jobSpec"].get("scheduling", {}).get("timeout", DEFAULT_TIMEOUT),
            data_dir=self._defaults.data_dir,
            buckets_dir=self._defaults.buckets_dir,
            venvs_dir=self._defaults.data_dir / "venvs",
            sandbox=self.sandbox(),
            replicas=replica_plans(spec, images, self.sandbox(), self._defaults.timeouts),
            lines=(
                *lines(spec, data_dir=self._defaults.data_dir),
                *self._network.lines(),
                *self._stale_objects.lines(),
            ),
            environment=self._defaults.environment,
            grace_seconds=self._defaults.grace_seconds,
            restart_seconds=self._defaults.restart_seconds,
            log_limit=self._defaults.log_limit,
            project=place.project,
            emulator_url=url,
            proxy=proxy,
            addition=addition,
            contract=self._contract.value,
            network=self._network.value,
            stale_objects=self._stale_objects.value,
            timeout_scale=self._defaults.timeouts.scale,
        )
        folder.create(job=document, plan=plan.to_json())


def cannot_write(data_dir: Path, error: Exception) -> RpcError:
    """Return the error for a data folder that cannot be written to."""
    return RpcError(
        "RESOURCE_EXHAUSTED",
        f"The emulator cannot write to its data folder {data_dir}: {error}. Free space on that disk or make "
        "the folder writable, and try again.",
    )
