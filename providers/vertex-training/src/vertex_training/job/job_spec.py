"""The API's message CustomJobSpec and the messages in it, which every kind of training resource contains.

A custom job has it as `jobSpec`, a tuning job as `trialJobSpec`, a training pipeline in its task's inputs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from vertex_training.catalog import api, enumerations
from vertex_training.fields import durations, uris, wire
from vertex_training.fields.effects import CHANGES, next_run, replaces
from vertex_training.fields.schema import child
from vertex_training.topology.normal import default_disk, normal_pools
from vertex_training.topology.pools import DiskSpec, WorkerPoolSpec

STRATEGIES = api.ENUMS["Scheduling.Strategy"]
"""Every name and its number in the enum `Scheduling.Strategy`."""

OLD_STRATEGIES = {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}
"""Deprecated names, with the ones to use instead."""

STRATEGY_BY_NUMBER = enumerations.ByNumber(STRATEGIES, old=tuple(OLD_STRATEGIES))
"""Convert a number of the enum to its name; return any other value unchanged."""


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """Time limits, restarts, and the strategy for machines.

    `timeout` is the longest running time, "3600s"; the service's default is 7 days. `max_wait_duration` is
    how long FLEX_START waits for machines: 24 hours unless given, "0s" without a limit.
    """

    timeout: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    """Longest running time of the job, such as "3600s". The service's default is 7 days."""
    restart_job_on_worker_restart: bool = False
    """Restart the whole job if a worker is restarted."""
    strategy: str | None = field(default=None, metadata={"convert": STRATEGY_BY_NUMBER})
    """STANDARD (the service's default), SPOT, or FLEX_START, which waits for machines."""
    disable_retries: bool = False
    """Do not retry the job after internal errors. It overrides `restart_job_on_worker_restart`."""
    max_wait_duration: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    """Longest time that FLEX_START waits for machines, such as "7200s". The service's default is 24 hours;
    "0s" means forever.
    """


FLEX_START_WAIT = "86400s"
"""How long FLEX_START waits by default."""


def normal_scheduling(scheduling: Scheduling) -> Scheduling | None:
    """Return the normal form, or None if it equals the service's defaults.

    STANDARD is the default strategy; ON_DEMAND and LOW_COST are the old names of STANDARD and SPOT.
    """
    timeout = durations.normal(scheduling.timeout or "")
    wait = durations.normal(scheduling.max_wait_duration or "")
    meaningless = FLEX_START_WAIT if scheduling.strategy == "FLEX_START" else "0s"
    strategy = OLD_STRATEGIES.get(scheduling.strategy or "", scheduling.strategy)
    normal = replace(
        scheduling,
        timeout=None if timeout in ("", "0s") else timeout,
        strategy=None if strategy in ("", "STRATEGY_UNSPECIFIED", "STANDARD") else strategy,
        max_wait_duration=None if wait in ("", meaningless) else wait,
    )
    return None if normal == Scheduling() else normal


@dataclass(frozen=True, kw_only=True)
class DnsPeeringConfig:
    """A domain that the job resolves in another network; `domain` ends with a dot."""

    domain: str
    """Domain to resolve, with a final dot, such as "example.corp."."""
    target_project: str
    """Project id of the managed DNS zone that has the domain."""
    target_network: str
    """Name of the VPC network in `target_project` in which the domain is resolved."""


@dataclass(frozen=True, kw_only=True)
class PscInterfaceConfig:
    """A Private Service Connect interface.

    `network_attachment` is projects/PROJECT/regions/REGION/networkAttachments/NAME.
    """

    network_attachment: str | None = None
    """Network attachment, projects/PROJECT/regions/REGION/networkAttachments/NAME."""
    dns_peering_configs: tuple[DnsPeeringConfig, ...] = ()
    """Domains that are resolved in another network. Vertex AI's service agent needs the role dns.peer in the
    other project.
    """


@dataclass(frozen=True, kw_only=True)
class EncryptionSpec:
    """A customer-managed key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY."""

    kms_key_name: str
    """Full name of the key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY. It must be in
    the region of the resource.
    """


def _output_uri_prefix(value: object) -> object:
    """Return the address in the message `{"outputUriPrefix": "gs://..."}`, or any other value unchanged."""
    if isinstance(value, Mapping) and len(value) == 1:
        return value.get("output_uri_prefix", value.get("outputUriPrefix", value))
    return value


def _as_message(value: str) -> dict[str, str]:
    return {"outputUriPrefix": value}


@dataclass(frozen=True, kw_only=True)
class Named:
    """The display name, which every training resource has.

    A dataclass lists the fields of its last base first, so `class CustomJobSpec(JobSpec, Named)` has the
    display name before the worker pools.
    """

    display_name: str = field(metadata={CHANGES: next_run("the display name of {noun}")})
    """Name for people, up to 128 characters. Default: the resource's name. `{run}` in it becomes the
    number of the run. A change applies to the next run.
    """


_WHOLE = {CHANGES: replaces()}
_POOLS = {CHANGES: replaces("worker pools", "once {noun} exists")}
_NETWORK = {CHANGES: replaces("the network of {noun}")}


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """Worker pools, and the settings that they share.

    `base_output_directory` is the plain prefix, gs://BUCKET/PREFIX/; None means that the run chooses it.
    """

    worker_pool_specs: tuple[WorkerPoolSpec, ...] = field(metadata=_POOLS)
    """Worker pools by position: chief, workers, parameter or reduction servers, evaluator. `topology` builds
    this list from roles.
    """
    scheduling: Scheduling | None = field(default=None, metadata=_WHOLE)
    """Timeout, restarts and scheduling strategy."""
    service_account: str | None = field(default=None, metadata=_WHOLE)
    """Service account that the job runs as. Default: Vertex AI's Custom Code Service Agent."""
    network: str | None = field(default=None, metadata=_NETWORK)
    """Full name of the VPC network to which the job is peered,
    projects/PROJECT_NUMBER/global/networks/NETWORK.
    """
    reserved_ip_ranges: tuple[str, ...] = field(default=(), metadata=_NETWORK)
    """Names of reserved IP ranges of the network that the job may use. Default: any range."""
    psc_interface_config: PscInterfaceConfig | None = field(default=None, metadata=_NETWORK)
    """Private Service Connect interface, through which the job reaches a network."""
    base_output_directory: str | None = field(
        default=None, metadata={"convert": _output_uri_prefix, "message": _as_message, **_WHOLE}
    )
    """The gs:// directory for the output of all runs. Default: each run has a directory of its own in
    `staging_bucket`.
    """
    persistent_resource_id: str | None = field(default=None, metadata=_WHOLE)
    """`PersistentResource`, or the id of one, on whose machines the job runs. The job waits for the resource,
    and the preview checks the job against the resource's pools.
    """
    protected_artifact_location_id: str | None = field(default=None, metadata=_WHOLE)
    """Region in which protected artifacts are stored, if it is not that of the job."""
    tensorboard: str | None = field(default=None, metadata=_WHOLE)
    """TensorBoard for the job's logs, projects/PROJECT/locations/LOCATION/tensorboards/ID. It needs a
    `service_account`.
    """
    enable_web_access: bool = field(default=False, metadata=_WHOLE)
    """Allow interactive shells in the containers."""
    enable_dashboard_access: bool = field(default=False, metadata=_WHOLE)
    """Allow access to a dashboard in the chief's container."""
    experiment: str | None = field(default=None, metadata=_WHOLE)
    """Experiment of the job, projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT."""
    experiment_run: str | None = field(default=None, metadata=_WHOLE)
    """Experiment run of the job,
    projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT-RUN.
    """
    models: tuple[str, ...] = field(default=(), metadata=_WHOLE)
    """Models whose artifact URIs the job gets, projects/PROJECT/locations/LOCATION/models/MODEL, also with
    @VERSION. Only for some jobs that Google provides.
    """


Job = TypeVar("Job", bound=JobSpec)
Spec = TypeVar("Spec")


def normalise(spec: Job) -> Job:
    """Return the normal form, equal for two specs of the same job in any spelling. Never raises.

    An empty optional text is None.
    """
    optional = (item.name for item in fields(spec) if item.default is None)
    blank: Mapping[str, Any] = {name: None for name in optional if getattr(spec, name) == ""}
    return replace(
        replace(spec, **blank),
        worker_pool_specs=normal_pools(spec.worker_pool_specs),
        scheduling=spec.scheduling and normal_scheduling(spec.scheduling),
        base_output_directory=uris.directory(spec.base_output_directory or "") or None,
        psc_interface_config=None
        if spec.psc_interface_config == PscInterfaceConfig()
        else spec.psc_interface_config,
    )


def to_wire(spec: JobSpec) -> dict[str, Any]:
    """Convert to the API's JSON of a `CustomJobSpec`; messages that contain one use `wire.to_json`."""
    return wire.to_json(spec)


def from_wire(job_spec: Mapping[str, Any], *, path: str = "") -> JobSpec:
    """Read a `CustomJobSpec` in the API's JSON. Raises ValueError if it is not one."""
    return wire.from_json(JobSpec, job_spec, path=path)


def parts(spec: object, path: str = "") -> Iterator[tuple[str, JobSpec]]:
    """Yield every `JobSpec` in a spec of any kind, with its path.

    The path is "" in a custom job and "trial_job_spec" in a tuning job.
    """
    if isinstance(spec, JobSpec):
        yield path, spec
    elif is_dataclass(spec) and not isinstance(spec, type):
        for item in fields(spec):
            yield from parts(getattr(spec, item.name), child(path, item.name))


def map_parts(spec: Spec, change: Callable[[str, JobSpec], object], path: str = "") -> Spec:
    """Return the spec with each `JobSpec` in it replaced by `change(path, part)`."""
    if isinstance(spec, JobSpec):
        return cast(Spec, change(path, spec))
    if not is_dataclass(spec) or isinstance(spec, type):
        return spec
    now = {item.name: getattr(spec, item.name) for item in fields(spec)}
    new = {name: map_parts(value, change, child(path, name)) for name, value in now.items()}
    return spec if all(new[name] is value for name, value in now.items()) else replace(spec, **new)


OF_NEXT_RUN: Mapping[str, Any] = {"display_name": "-", "labels": {}}
"""Fields that only the next run gets, with the values that stand for them in a hash."""


def hash_of(normal: object, encode: Callable[[Any], Mapping[str, Any]]) -> str:
    """Return "v1-" and 16 hex digits for a normal form of any kind; `encode` converts it to JSON.

    The fields in `OF_NEXT_RUN` and the service's default disks take no part: a change of them is no reason to
    run.
    """
    fixed = replace(normal, **{name: blank for name, blank in OF_NEXT_RUN.items() if hasattr(normal, name)})  # type: ignore[type-var]
    canonical = json.dumps(
        encode(map_parts(fixed, _without_default_disks)), sort_keys=True, separators=(",", ":")
    )
    return "v1-" + hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _without_default_disks(_: str, spec: JobSpec) -> JobSpec:
    return replace(spec, worker_pool_specs=tuple(map(_without_default_disk, spec.worker_pool_specs)))


def _without_default_disk(pool: WorkerPoolSpec) -> WorkerPoolSpec:
    """Return a normal pool in which the machine's default type of disk is no type."""
    if pool.is_empty:
        return pool
    default = default_disk(pool.machine_type)
    disk = pool.disk_spec or default
    kind = "" if disk.boot_disk_type == default.boot_disk_type else disk.boot_disk_type
    return replace(pool, disk_spec=DiskSpec(boot_disk_type=kind, boot_disk_size_gb=disk.boot_disk_size_gb))
