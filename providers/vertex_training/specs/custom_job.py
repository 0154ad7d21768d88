"""The custom job: its spec, normal form, JSON and hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from vertex_training.specs import uris, wire
from vertex_training.specs.networking import EncryptionSpec, PscInterfaceConfig
from vertex_training.specs.scheduling import Scheduling, normal_scheduling
from vertex_training.topology.normal import default_disk, normal_pools
from vertex_training.topology.pools import DiskSpec, WorkerPoolSpec


def _output_uri_prefix(value: object) -> object:
    """The API's message `{"outputUriPrefix": "gs://..."}` as the plain address; other values as they are."""
    if isinstance(value, Mapping) and len(value) == 1:
        return value.get("output_uri_prefix", value.get("outputUriPrefix", value))
    return value


@dataclass(frozen=True, kw_only=True)
class CustomJobSpec:
    """A custom job, with the fields of the API's `jobSpec` beside those of the job itself.

    `base_output_directory` is the prefix itself, gs://BUCKET/PREFIX/; None leaves it to the run.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset(
        {
            "name",
            "state",
            "create_time",
            "start_time",
            "end_time",
            "update_time",
            "error",
            "web_access_uris",
            "satisfies_pzs",
            "satisfies_pzi",
        }
    )

    display_name: str
    worker_pool_specs: tuple[WorkerPoolSpec, ...]
    scheduling: Scheduling | None = None
    service_account: str | None = None
    network: str | None = None
    reserved_ip_ranges: tuple[str, ...] = ()
    psc_interface_config: PscInterfaceConfig | None = None
    base_output_directory: str | None = field(default=None, metadata={"convert": _output_uri_prefix})
    persistent_resource_id: str | None = None
    protected_artifact_location_id: str | None = None
    tensorboard: str | None = None
    enable_web_access: bool = False
    enable_dashboard_access: bool = False
    experiment: str | None = None
    experiment_run: str | None = None
    models: tuple[str, ...] = ()
    encryption_spec: EncryptionSpec | None = field(default=None, metadata={"absent_if_empty": True})
    labels: Mapping[str, str] = field(default_factory=dict)


Job = TypeVar("Job", bound=CustomJobSpec)


def normalise(spec: Job) -> Job:
    """The normal form: equal for two specs of the same job, however they are spelled. Never raises."""
    return replace(
        spec,
        worker_pool_specs=normal_pools(spec.worker_pool_specs),
        scheduling=spec.scheduling and normal_scheduling(spec.scheduling),
        base_output_directory=uris.directory(spec.base_output_directory or "") or None,
        psc_interface_config=None
        if spec.psc_interface_config == PscInterfaceConfig()
        else spec.psc_interface_config,
        service_account=spec.service_account or None,
        network=spec.network or None,
        persistent_resource_id=spec.persistent_resource_id or None,
        protected_artifact_location_id=spec.protected_artifact_location_id or None,
        tensorboard=spec.tensorboard or None,
        experiment=spec.experiment or None,
        experiment_run=spec.experiment_run or None,
    )


OF_JOB = ("labels", "encryptionSpec")
"""The fields of a `CustomJob` beside its display name and its `jobSpec`."""


def to_wire(spec: CustomJobSpec) -> dict[str, Any]:
    """The job as the API's JSON, a `CustomJob`."""
    fields = wire.to_json(spec)
    if "baseOutputDirectory" in fields:
        fields["baseOutputDirectory"] = {"outputUriPrefix": fields["baseOutputDirectory"]}
    outer = {key: fields.pop(key) for key in OF_JOB if key in fields}
    return {"displayName": fields.pop("displayName"), "jobSpec": fields, **outer}


def from_wire(job: Mapping[str, Any]) -> CustomJobSpec:
    """The spec of a `CustomJob` in the API's JSON; what only the service sets is passed over.

    Raises ValueError for what is no custom job.
    """
    return wire.from_json(CustomJobSpec, flat(job))


def output_directory(job: Mapping[str, Any]) -> str | None:
    """Where a `CustomJob` in the API's JSON writes, gs://BUCKET/PREFIX/; None where it names no directory."""
    return normalise(from_wire(job)).base_output_directory


def flat(job: Mapping[str, Any]) -> dict[str, Any]:
    """`jobSpec`'s fields beside the job's own."""
    nested = next((key for key in ("jobSpec", "job_spec") if isinstance(job.get(key), Mapping)), None)
    if nested is None:
        return dict(job)
    return {**{key: value for key, value in job.items() if key != nested}, **job[nested]}


def spec_hash(spec: CustomJobSpec) -> str:
    """ "v1-" and 16 hex digits: equal for specs with an equal normal form, short enough for a label.

    Hash the spec as it is declared: with `base_output_directory` None where the run chooses it, without the
    labels that a run adds. What was not declared has to hash the same in every version, also when a table of
    defaults changes: such a disk counts as it did in the first version.
    """
    normal = normalise(spec)
    normal = replace(normal, worker_pool_specs=tuple(map(_with_first_disk, normal.worker_pool_specs)))
    canonical = json.dumps(to_wire(normal), sort_keys=True, separators=(",", ":"))
    return "v1-" + hashlib.sha256(canonical.encode()).hexdigest()[:16]


_HYPERDISKS_OF_V1 = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})


def _with_first_disk(pool: WorkerPoolSpec) -> WorkerPoolSpec:
    """A pool in normal form with the disk that hashes of v1 had where none is declared. Never to be
    changed."""
    if pool.is_empty:
        return pool
    default, disk = default_disk(pool.machine_type), pool.disk_spec
    size = disk.boot_disk_size_gb if disk else default.boot_disk_size_gb
    kind = disk.boot_disk_type if disk else ""
    if kind == "pd-ssd" and not default.boot_disk_type:
        # Declared for a machine whose own default is not known: not the same as no type declared.
        kind = "pd-ssd, declared"
    if kind in ("", default.boot_disk_type):
        kind = "hyperdisk-balanced" if pool.machine_type in _HYPERDISKS_OF_V1 else "pd-ssd"
    return replace(pool, disk_spec=DiskSpec(boot_disk_type=kind, boot_disk_size_gb=size))
