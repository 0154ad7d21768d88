"""The explanation of a declaration of any kind, before it becomes JSON or a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi_vertex_training.documents.document import Document
from vertex_training.cost.cost import Cost
from vertex_training.fields.schema import camel_case
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings import problems as findings
from vertex_training.findings.problems import Problem
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.job_variables import METRIC_TAG
from vertex_training.replica_environment.replica import ReplicaEnvironment
from vertex_training.topology.presets.tables import Preset
from vertex_training.topology.roles import SERVERS, Role, role_of
from vertex_training.topology.rules.reduction_servers import Sizing

SAMPLE_JOB_ID = "1234567890123456789"
SAMPLE_PROJECT_NUMBER = "123456789012"
SAMPLE_LOCATION = "us-central1"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Values that only a submitted job has, fixed so that two explanations can be compared."""

    job_id: str = SAMPLE_JOB_ID
    project_number: str = SAMPLE_PROJECT_NUMBER
    location: str = SAMPLE_LOCATION
    trial: str | None = None
    metric_tag: str = METRIC_TAG
    data: Mapping[str, str] = field(default_factory=dict)
    """The variables of a pipeline's data."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The IP address of each host, for settings of frameworks that need addresses instead of names."""


@dataclass(frozen=True, kw_only=True)
class ExplainedReplica:
    """The environment of a replica, also as on AI Platform for a training input, and framework settings.

    `machines` is more than 1 for a TPU slice; the environment is then its first machine's.
    `on_emulator` has the additional variables of the emulator.
    """

    environment: ReplicaEnvironment
    machines: int = 1
    ai_platform: ReplicaEnvironment | None = None
    on_emulator: Mapping[str, str] = field(default_factory=dict)
    framework_settings: Mapping[str, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the replica, Vertex AI's first."""
        return (self.environment.name, *((self.ai_platform.name,) if self.ai_platform else ()))


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The explanation of a document.

    `job` is the custom job in the document; for a custom job, the document itself. `sizing` is set only for
    reduction servers, with a number or "auto". `replicas` is empty if the declaration does not determine
    them. `framework` is the one whose settings the replicas have, `preset` the named framework's.
    `cost` is that of the whole document in the sample's location, None if errors hide it. `machines_cost` is
    that of the persistent resource, None without one.
    """

    document: Document[Any]
    job: Document[CustomJobSpec]
    problems: tuple[Problem, ...]
    sample: Sample
    replicas: tuple[ExplainedReplica, ...] = ()
    sizing: Sizing | None = None
    framework: str | None = None
    preset: Preset | None = None
    cost: Cost | None = None
    machines_cost: Cost | None = None

    @property
    def spec(self) -> CustomJobSpec | None:
        """The spec of the custom job in the document."""
        return self.job.spec

    @property
    def has_replicas(self) -> bool:
        """True if any pool of the custom job in the document has replicas."""
        return self.spec is not None and any(not pool.is_empty for pool in self.spec.worker_pool_specs)

    @property
    def declared_reduction_servers(self) -> int | None:
        """The number of reduction servers in the normal form; None without any."""
        pools = self.spec.worker_pool_specs if self.spec else ()
        if len(pools) <= SERVERS or role_of(SERVERS, pools[SERVERS]) is not Role.REDUCTION_SERVER:
            return None
        return pools[SERVERS].replica_count

    @property
    def errors(self) -> tuple[Problem, ...]:
        return findings.errors(self.problems)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return findings.warnings(self.problems)


def has_tasks(spec: CustomJobSpec) -> bool:
    """Return whether any pool has a task, except reduction servers, whose image roles have as well."""
    return any(
        pool.task is not None and not (i == SERVERS and role_of(i, pool) is Role.REDUCTION_SERVER)
        for i, pool in enumerate(spec.worker_pool_specs)
    )


def is_bare(spec: CustomJobSpec) -> bool:
    """Return whether the spec has no fields except its pools."""
    return replace(spec, worker_pool_specs=()) == CustomJobSpec(display_name="", worker_pool_specs=())


def without_gaps(value: object) -> Any:
    """Return JSON without the placeholders of values that could not be read."""
    if isinstance(value, dict):
        return {key: without_gaps(item) for key, item in value.items() if item != NOT_KNOWN}
    if isinstance(value, list):
        return [without_gaps(item) for item in value if item != NOT_KNOWN]
    return value


def as_readable_document(wire: dict[str, Any], document: Document[Any]) -> dict[str, Any]:
    """Return a resource's JSON so that reading it gives the document again."""
    absent = {camel_case(name) for name in document.unsaid}
    plain: dict[str, Any] = without_gaps({key: item for key, item in wire.items() if key not in absent})
    return plain
