"""The training input of legacy AI Platform: its messages, facts about it, and reading it.

Source: AI Platform Training and Prediction API, v1, `GoogleCloudMlV1__TrainingInput` and its messages. The
service ended on 31 January 2025; `conversion` turns jobs that were written for it into worker pools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi_vertex_training.documents.document import key_name
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from vertex_training.fields import durations
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.values import Unknown, kind
from vertex_training.findings.problems import Problem
from vertex_training.topology.roles import EVALUATORS

PREFIX = "training_input"
SCALE_TIER_PATH = f"{PREFIX}.scale_tier"
ROLES = ("worker", "parameter_server", "evaluator")
"""The roles other than the master."""


def _boolean(value: object) -> object:
    """Convert the texts "true" and "false", which the old API accepted; return any other value as it is."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class AcceleratorConfig:
    """The accelerators of each machine of a role; `count` is a string in the API's JSON."""

    type: str | None = None
    count: int = field(default=0, metadata={"int64": True})


@dataclass(frozen=True, kw_only=True)
class DiskConfig:
    """The boot disk of each machine of a role; None and 0 leave the choice to the service."""

    boot_disk_type: str | None = None
    boot_disk_size_gb: int = 0


@dataclass(frozen=True, kw_only=True)
class ReplicaConfig:
    """The machines of one role and their container; `image_uri` is a custom container."""

    image_uri: str | None = None
    accelerator_config: AcceleratorConfig | None = None
    disk_config: DiskConfig | None = None
    container_command: tuple[str, ...] = ()
    container_args: tuple[str, ...] = ()
    tpu_tf_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class LegacyScheduling:
    """`max_running_time` and `max_wait_time` are durations, "3600s"; `priority` is any number."""

    max_running_time: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    max_wait_time: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    priority: int = 0


@dataclass(frozen=True, kw_only=True)
class EncryptionConfig:
    """A customer-managed key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY."""

    kms_key_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """A training job of AI Platform.

    `scale_tier` None is BASIC. The types and counts of the roles belong to the tier CUSTOM; a role without a
    config of its own runs the task of the master. `hyperparameters` is kept as it was written: it makes the
    job a tuning job.
    """

    scale_tier: str | None = None
    master_type: str | None = None
    master_config: ReplicaConfig | None = None
    worker_type: str | None = None
    worker_config: ReplicaConfig | None = None
    parameter_server_type: str | None = None
    parameter_server_config: ReplicaConfig | None = None
    evaluator_type: str | None = None
    evaluator_config: ReplicaConfig | None = None
    worker_count: int = field(default=0, metadata={"int64": True})
    parameter_server_count: int = field(default=0, metadata={"int64": True})
    evaluator_count: int = field(default=0, metadata={"int64": True})
    package_uris: tuple[str, ...] = ()
    python_module: str | None = None
    args: tuple[str, ...] = ()
    runtime_version: str | None = None
    python_version: str | None = None
    region: str | None = None
    job_dir: str | None = None
    network: str | None = None
    service_account: str | None = None
    use_chief_in_tf_config: bool = field(default=False, metadata={"convert": _boolean})
    enable_web_access: bool = field(default=False, metadata={"convert": _boolean})
    scheduling: LegacyScheduling | None = None
    encryption_config: EncryptionConfig | None = None
    hyperparameters: Mapping[str, object] | None = None

    @property
    def has_container(self) -> bool:
        """True if the master runs a custom container, False for a package on a runtime version."""
        return bool(self.master_config and self.master_config.image_uri)


@dataclass(frozen=True, kw_only=True)
class LegacyJob:
    """A job of AI Platform: its training input, id and labels."""

    job_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    training_input: TrainingInput = field(default_factory=TrainingInput)


OUTPUT_ONLY = frozenset(
    {
        "create_time",
        "start_time",
        "end_time",
        "state",
        "error_message",
        "etag",
        "job_position",
        "training_output",
    }
)
"""The fields of a job that only the service sets."""


def read_job(value: Mapping[Any, object]) -> Decoded[LegacyJob]:
    """Decode a job of AI Platform, `{"jobId": ..., "labels": ..., "trainingInput": {...}}`.

    Fields that only the service sets are skipped. Only the shape is checked.
    """
    rest = {key: item for key, item in value.items() if key_name(key) not in OUTPUT_ONLY}
    key = next((key for key in rest if key_name(key) == "training_input"), None)
    inner = rest.get(key)
    if not isinstance(inner, Mapping):
        return decode(LegacyJob, rest)
    tuning = next((item for name, item in inner.items() if key_name(name) == "hyperparameters"), None)
    rest[key] = {name: item for name, item in inner.items() if key_name(name) != "hyperparameters"}
    decoded = decode(LegacyJob, rest)
    if tuning is None or decoded.draft is None:
        return decoded
    if not isinstance(tuning, (Mapping, Unknown)):
        problem = Problem(
            path="training_input.hyperparameters", message=f"expected a mapping, got {kind(tuning)}"
        )
        return replace(decoded, spec=None, problems=(*decoded.problems, problem))
    known = tuning if isinstance(tuning, Mapping) else {}
    draft = replace(
        decoded.draft, training_input=replace(decoded.draft.training_input, hyperparameters=known)
    )
    return replace(decoded, draft=draft, spec=draft if decoded.spec else None)


def tier_of(job: TrainingInput) -> str:
    """Return the given scale tier, or else CUSTOM if types or counts are given, or else BASIC."""
    if job.scale_tier:
        return job.scale_tier
    return tables.CUSTOM if sized_fields(job) else tables.DEFAULT_TIER


def has_task(job: TrainingInput) -> bool:
    """Return whether the input has a task; in a --config file, flags of the command may give it instead."""
    images = (config_of(job, role).image_uri for role in ("master", *ROLES))
    return has_package(job) or any(images)


def has_package(job: TrainingInput) -> bool:
    """Return whether the input names packages or a module."""
    return bool(job.package_uris or job.python_module)


def type_of(job: TrainingInput, role: str) -> str | None:
    """Return the machine type that is given for a role."""
    return getattr(job, f"{role}_type") or None


def count_of(job: TrainingInput, role: str) -> int:
    """Return the number of replicas that is given for a role; there is always one master."""
    return 1 if role == "master" else int(getattr(job, f"{role}_count"))


def replicas_of(job: TrainingInput, role: str) -> int:
    """Return the number of replicas of a role: the scale tier's, or with CUSTOM the given one."""
    tier = tables.TIERS.get(tier_of(job))
    if tier is None or role == "master":
        return count_of(job, role)
    return {"worker": tier.worker[1], "parameter_server": tier.parameter_server[1]}.get(role, 0)


def config_of(job: TrainingInput, role: str) -> ReplicaConfig:
    """Return the config of a role, or an empty config."""
    return getattr(job, f"{role}_config") or ReplicaConfig()


def sized_fields(job: TrainingInput) -> list[str]:
    """Return the given fields that only the tier CUSTOM allows."""
    types = [f"{role}_type" for role in ("master", *ROLES) if type_of(job, role)]
    return types + [f"{role}_count" for role in ROLES if count_of(job, role)]


_FIRST_WITH_CHIEF = (2, 1)


def role_counts(training_input: TrainingInput) -> tuple[int, int, int, int]:
    """Return the numbers of masters, workers, parameter servers and evaluators, by the scale tier.

    Only CUSTOM has counts of its own. A TPU is declared as a worker but belongs to the master: no program
    runs there, so it is not counted.
    """
    workers, servers, evaluators = (
        replicas_of(training_input, role) for role in ("worker", "parameter_server", "evaluator")
    )
    tier = tables.TIERS.get(tier_of(training_input))
    worker_type = training_input.worker_type if tier is None else tier.worker[0]
    return (1, 0 if worker_type == tables.CLOUD_TPU else workers, servers, evaluators)


def chief_name(training_input: TrainingInput) -> str:
    """Return the master's name in TF_CONFIG ("TF_CONFIG and distributed training", "chief versus master").

    It is `chief` from runtime version 2.1 on, in a job with an evaluator, and in custom containers with
    `use_chief_in_tf_config`. It is `master` in all other jobs, including custom containers of any framework.
    """
    version = re.fullmatch(r"(\d+)\.(\d+)", training_input.runtime_version or "")
    recent = version is not None and (int(version[1]), int(version[2])) >= _FIRST_WITH_CHIEF
    asked = training_input.has_container and training_input.use_chief_in_tf_config
    return "chief" if recent or asked or role_counts(training_input)[EVALUATORS] else "master"
