"""From a custom job to what the service stores of it and to the plan of its supervisor. Pure.

Seen in its answers: a boot disk for every pool with replicas. Everything else stays as it was sent, trailing
empty pools too, but for messages that say nothing. Vertex AI documentation, "Configure compute resources for
serverless training", has the machines with another kind of disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertex_emulator.custom_jobs.checks import limitations
from vertex_emulator.custom_jobs.plan import ReplicaPlan
from vertex_emulator.custom_jobs.replica import images
from vertex_emulator.custom_jobs.sandbox import file_shares
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox
from vertex_emulator.replica_images.image import ReplicaImage
from vertex_emulator.replica_images.stand_ins import WAIT
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import Replica, is_reduction_server_image, replicas

_DISK, _SIZE = "pd-ssd", 100
_HYPERDISK = "hyperdisk-balanced"
_HYPERDISK_MACHINES = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})
_MAY_BE_EMPTY = ("scheduling", "psc_interface_config")


def fill_in(job_spec: Any) -> None:
    """Change a `CustomJobSpec` message, which has been checked."""
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
    """A job in its JSON form where every pool without replicas is `{}`, whatever else it was given."""
    spec = dict(job["jobSpec"])
    spec["workerPoolSpecs"] = [
        pool if int(pool.get("replicaCount", 0)) else {} for pool in spec["workerPoolSpecs"]
    ]
    return {**job, "jobSpec": spec}


def replica_plans(
    spec: CustomJobSpec, found: Mapping[str, ReplicaImage], sandbox: Sandbox
) -> tuple[ReplicaPlan, ...]:
    """What each replica of a job runs. `found` has what each of the job's image names means."""
    shares = [file_shares.shares_of(pool) for pool in spec.worker_pool_specs]
    return tuple(
        _plan(each, spec.worker_pool_specs[each.pool], found, sandbox, shares[each.pool])
        for each in replicas(spec.worker_pool_specs)
    )


def lines(spec: CustomJobSpec, *, data_dir: Path) -> tuple[str, ...]:
    """What the service's log says of a job's fields that are another thing here than on Google Cloud."""
    return limitations.lines(spec, file_shares.all_shares(spec.worker_pool_specs), data_dir)


def _plan(
    replica: Replica,
    pool: WorkerPoolSpec,
    found: Mapping[str, ReplicaImage],
    sandbox: Sandbox,
    shares: tuple[file_shares.Share, ...],
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
        notice=images.notice(uri, image, sandbox, accelerators=_accelerators(pool)),
        package_uris=package.package_uris if package and not container else (),
        image=image,
        shares=shares,
    )


def container_argv(image: ReplicaImage, command: tuple[str, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """What a container runs: `command` replaces the image's entrypoint and drops the image's own command,
    which `args` replace. References are expanded in the job's words only, so those of the image are escaped.

    Sources: Vertex AI documentation, "Custom containers for training"; Kubernetes has the same rules.
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
