"""The custom job: its spec, normal form, rules, JSON, hash, and what a change of a field does."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from vertex_training.specs import durations, uris, wire
from vertex_training.specs.bucket_names import bucket_name_faults
from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.effects import Effect, FieldEffect, FieldTable
from vertex_training.specs.labels import LABELS_OF_OURS, label_problems
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.problems import Problem
from vertex_training.topology.validation import validate_pools

MAX_DISPLAY_NAME = 128

_SERVICE_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]*@([a-z0-9-]+\.)+gserviceaccount\.com")


def _output_uri_prefix(value: object) -> object:
    """The API's message `{"outputUriPrefix": "gs://..."}` as the plain address; other values as they are."""
    if isinstance(value, Mapping) and len(value) == 1:
        return value.get("output_uri_prefix", value.get("outputUriPrefix", value))
    return value


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """When a job gives up. `timeout` is the longest running time, "3600s"; the service's own is 7 days."""

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset({"strategy", "max_wait_duration"})

    timeout: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    restart_job_on_worker_restart: bool = False
    disable_retries: bool = False


@dataclass(frozen=True, kw_only=True)
class CustomJobSpec:
    """A custom job, with the fields of the API's `jobSpec` beside those of the job itself.

    `base_output_directory` is the prefix itself, gs://BUCKET/PREFIX/; None leaves it to the run.
    """

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset(
        {
            "encryption_spec",
            "persistent_resource_id",
            "network",
            "reserved_ip_ranges",
            "psc_interface_config",
            "protected_artifact_location_id",
            "tensorboard",
            "enable_web_access",
            "enable_dashboard_access",
            "experiment",
            "experiment_run",
            "models",
        }
    )
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
    base_output_directory: str | None = field(default=None, metadata={"convert": _output_uri_prefix})
    labels: Mapping[str, str] = field(default_factory=dict)


Job = TypeVar("Job", bound=CustomJobSpec)

_POOLS = FieldEffect(effect=Effect.REPLACE, reason="worker pools cannot change once a job exists")
_JOB = FieldEffect(effect=Effect.REPLACE, reason="a job cannot change once it exists")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

EFFECTS: FieldTable = MappingProxyType(
    {
        "display_name": _JOB,
        "worker_pool_specs[].machine_spec.machine_type": _POOLS,
        "worker_pool_specs[].machine_spec.accelerator_type": _POOLS,
        "worker_pool_specs[].machine_spec.accelerator_count": _POOLS,
        "worker_pool_specs[].replica_count": _POOLS,
        "worker_pool_specs[].disk_spec.boot_disk_type": _POOLS,
        "worker_pool_specs[].disk_spec.boot_disk_size_gb": _POOLS,
        "worker_pool_specs[].container_spec.image_uri": _POOLS,
        "worker_pool_specs[].container_spec.command": _POOLS,
        "worker_pool_specs[].container_spec.args": _POOLS,
        "worker_pool_specs[].container_spec.env[].name": _POOLS,
        "worker_pool_specs[].container_spec.env[].value": _POOLS,
        "worker_pool_specs[].python_package_spec.executor_image_uri": _POOLS,
        "worker_pool_specs[].python_package_spec.package_uris": _POOLS,
        "worker_pool_specs[].python_package_spec.python_module": _POOLS,
        "worker_pool_specs[].python_package_spec.args": _POOLS,
        "worker_pool_specs[].python_package_spec.env[].name": _POOLS,
        "worker_pool_specs[].python_package_spec.env[].value": _POOLS,
        "scheduling.timeout": _JOB,
        "scheduling.restart_job_on_worker_restart": _JOB,
        "scheduling.disable_retries": _JOB,
        "service_account": _JOB,
        "base_output_directory": _JOB,
        "labels": FieldEffect(
            effect=Effect.REPLACE, reason="the labels of a job cannot change once it exists"
        ),
        **dict.fromkeys(sorted(CustomJobSpec.SERVER_OWNED), _SERVICE),
    }
)


def read(value: object) -> Decoded[CustomJobSpec]:
    """Decode, normalise and check what a program or a file says; every problem at once, with its path.

    The API's nesting, `{"displayName": ..., "jobSpec": {...}}`, is read as well.
    """
    flat = _without_job_spec(value) if isinstance(value, Mapping) else value
    return decode(CustomJobSpec, flat).then(normalise, validate)


def normalise(spec: Job) -> Job:
    """The normal form: equal for two specs of the same job, however they are spelled. Never raises."""
    return replace(
        spec,
        worker_pool_specs=normal_pools(spec.worker_pool_specs),
        scheduling=_normal_scheduling(spec.scheduling),
        service_account=spec.service_account or None,
        base_output_directory=uris.directory(spec.base_output_directory or "") or None,
    )


def _normal_scheduling(scheduling: Scheduling | None) -> Scheduling | None:
    if scheduling is None:
        return None
    timeout = durations.normal(scheduling.timeout or "")
    normal = replace(scheduling, timeout=None if timeout in ("", "0s") else timeout)
    return None if normal == Scheduling() else normal


def validate(spec: CustomJobSpec) -> list[Problem]:
    """Every finding about a spec, in the order of its fields."""
    problems = []
    if not 1 <= len(spec.display_name) <= MAX_DISPLAY_NAME:
        problems.append(
            Problem(
                path="display_name",
                message=f"has {len(spec.display_name)} characters; a job's name has 1 to {MAX_DISPLAY_NAME}",
            )
        )
    problems += validate_pools(spec.worker_pool_specs)
    problems += _scheduling_problems(spec.scheduling)
    if spec.service_account and not _SERVICE_ACCOUNT.fullmatch(spec.service_account):
        problems.append(
            Problem(
                path="service_account",
                message=f"{spec.service_account!r} is not the e-mail address of a service account; "
                "write NAME@PROJECT.iam.gserviceaccount.com",
            )
        )
    if spec.base_output_directory:
        problems += _directory_problems(spec.base_output_directory)
    return problems + label_problems(spec.labels, spare=LABELS_OF_OURS)


def _scheduling_problems(scheduling: Scheduling | None) -> list[Problem]:
    problems: list[Problem] = []
    if scheduling is None:
        return problems
    if scheduling.timeout is not None and (fault := durations.problem_with(scheduling.timeout)):
        problems.append(Problem(path="scheduling.timeout", message=fault))
    if scheduling.disable_retries and scheduling.restart_job_on_worker_restart:
        problems.append(
            Problem(
                path="scheduling.restart_job_on_worker_restart",
                message="has no effect, because disable_retries is true; drop one of the two",
                level="warning",
                rests_on=("scheduling.restart_job_on_worker_restart", "scheduling.disable_retries"),
            )
        )
    return problems


def _directory_problems(text: str) -> list[Problem]:
    path = "base_output_directory"
    try:
        address = uris.parse(text)
    except ValueError:
        return [Problem(path=path, message=f"{text!r} is no directory in a bucket; write gs://BUCKET/PREFIX")]
    return [Problem(path=path, message=fault) for fault in bucket_name_faults(address.bucket)]


def to_wire(spec: CustomJobSpec) -> dict[str, Any]:
    """The job as the API's JSON, a `CustomJob`."""
    flat = wire.to_json(spec)
    if "baseOutputDirectory" in flat:
        flat["baseOutputDirectory"] = {"outputUriPrefix": flat["baseOutputDirectory"]}
    job_spec = {key: value for key, value in flat.items() if key not in ("displayName", "labels")}
    outer = {key: flat[key] for key in ("labels",) if key in flat}
    return {"displayName": flat["displayName"], "jobSpec": job_spec, **outer}


def from_wire(job: Mapping[str, Any]) -> CustomJobSpec:
    """The spec of a `CustomJob` in the API's JSON; what only the service sets is passed over.

    Raises ValueError for what is no custom job.
    """
    return wire.from_json(CustomJobSpec, _without_job_spec(job))


def _without_job_spec(job: Mapping[str, Any]) -> dict[str, Any]:
    """`jobSpec`'s fields beside the job's own."""
    nested = next((key for key in ("jobSpec", "job_spec") if isinstance(job.get(key), Mapping)), None)
    if nested is None:
        return dict(job)
    return {**{key: value for key, value in job.items() if key != nested}, **job[nested]}


def spec_hash(spec: CustomJobSpec) -> str:
    """ "v1-" and 16 hex digits: equal for specs with an equal normal form, short enough for a label.

    Hash the spec as it is declared: with `base_output_directory` None where the run chooses it, without the
    labels that a run adds.
    """
    canonical = json.dumps(to_wire(normalise(spec)), sort_keys=True, separators=(",", ":"))
    return "v1-" + hashlib.sha256(canonical.encode()).hexdigest()[:16]
