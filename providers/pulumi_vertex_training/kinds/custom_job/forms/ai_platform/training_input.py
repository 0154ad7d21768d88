"""The training input of legacy AI Platform, and reading it from plain values.

Source: AI Platform Training and Prediction API, v1, `GoogleCloudMlV1__TrainingInput` and its messages. The
service ended on 31 January 2025; `conversion` turns jobs that were written for it into worker pools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vertex_training.fields import durations
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.schema import snake_case
from vertex_training.fields.values import Unknown, kind
from vertex_training.findings.problems import Problem


def _boolean(value: object) -> object:
    """ "True" and "false" as booleans, as the old API took them; any other value comes back as it is."""
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
    """What the machines of one role have and run; `image_uri` is a custom container."""

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
    config of its own runs what the master runs. `hyperparameters` is kept as it was written: it makes the job
    a tuning job.
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
        """Whether the master runs a container of the user's, and not a package on a runtime version."""
        return bool(self.master_config and self.master_config.image_uri)


@dataclass(frozen=True, kw_only=True)
class LegacyJob:
    """A job of AI Platform: its input, with the id and the labels beside it."""

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
"""The fields of a job that only the service set."""


def read_job(value: Mapping[Any, object]) -> Decoded[LegacyJob]:
    """Decode a job of AI Platform, `{"jobId": ..., "labels": ..., "trainingInput": {...}}`.

    What only the service set is passed over. Nothing is judged yet but the shape.
    """
    rest = {key: item for key, item in value.items() if _name(key) not in OUTPUT_ONLY}
    key = next((key for key in rest if _name(key) == "training_input"), None)
    inner = rest.get(key)
    if not isinstance(inner, Mapping):
        return decode(LegacyJob, rest)
    tuning = next((item for name, item in inner.items() if _name(name) == "hyperparameters"), None)
    rest[key] = {name: item for name, item in inner.items() if _name(name) != "hyperparameters"}
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


def _name(key: object) -> str:
    return snake_case(key) if isinstance(key, str) else ""
