"""What `explain` has to say of a declaration, before it is JSON or a page for people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vertex_cluster import frameworks as framework_settings
from vertex_cluster.cluster import Cluster
from vertex_cluster.errors import ClusterError
from vertex_training.cli import check_switches, explain_slices, replica_limits
from vertex_training.environment.ai_platform import ai_platform_environments
from vertex_training.environment.local_devices import local_device_variables
from vertex_training.environment.replica import Contract, ReplicaEnvironment, job_environments
from vertex_training.specs import documents, rule_index
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.documents import Document
from vertex_training.specs.persistent_resource import PersistentResource
from vertex_training.specs.persistent_resource_rules import persistent_resource_problems
from vertex_training.topology import problems as findings
from vertex_training.topology import reduction_servers
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem
from vertex_training.topology.reduction_servers import Sizing
from vertex_training.topology.roles import CHIEF, SERVERS, WORKERS, Role, role_of

SAMPLE_JOB_ID = "1234567890123456789"
SAMPLE_PROJECT_NUMBER = "123456789012"
SAMPLE_LOCATION = "us-central1"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What only a submitted job has: fixed values, so that two explanations can be compared."""

    job_id: str = SAMPLE_JOB_ID
    project_number: str = SAMPLE_PROJECT_NUMBER
    location: str = SAMPLE_LOCATION
    trial: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The IP address of each host, in settings of frameworks that do not work with names."""


@dataclass(frozen=True, kw_only=True)
class ExplainedReplica:
    """A replica's environment; what it was on AI Platform, for a training input; what its framework wants.

    `machines`: more than 1 for a TPU slice, of whose first machine the environment is. `on_emulator`: what
    the emulator sets besides.
    """

    environment: ReplicaEnvironment
    machines: int = 1
    ai_platform: ReplicaEnvironment | None = None
    on_emulator: Mapping[str, str] = field(default_factory=dict)
    framework_settings: Mapping[str, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it goes by, that of Vertex AI first."""
        return (self.environment.name, *((self.ai_platform.name,) if self.ai_platform else ()))


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """`sizing` is there for reduction servers only, declared or asked for as "auto"; `replicas` is empty when
    the declaration does not say what they are."""

    document: Document
    problems: tuple[Problem, ...]
    sample: Sample
    replicas: tuple[ExplainedReplica, ...] = ()
    sizing: Sizing | None = None
    framework: str | None = None

    @property
    def spec(self) -> CustomJobSpec | None:
        return self.document.spec

    @property
    def declared_reduction_servers(self) -> int | None:
        """How many there are in the normal form; None where there are no reduction servers."""
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


def explanation_of(
    value: object,
    *,
    options: CheckOptions,
    contract: Contract = "observed",
    trial: str | None = None,
    settings: str | None = None,
    resource: PersistentResource | None = None,
) -> Explanation:
    """Everything about the plain values of a file. `settings`: the framework whose settings are shown;
    `resource`: the persistent resource that the job is to run on."""
    document = documents.read_document(value, options=options)
    sample = Sample(location=document.location or SAMPLE_LOCATION, trial=trial)
    problems = list(document.problems)
    if resource is not None and document.spec is not None:
        problems += persistent_resource_problems(document.spec, resource)
    replicas: Sequence[ExplainedReplica] = ()
    if document.spec is not None and replica_limits.can_be_listed(document):
        beyond = list(replica_limits.limit_problems(document))
        problems += beyond
        if not beyond:
            replicas = _replicas(document, document.spec, contract, sample)
    if settings is not None:
        replicas, addresses, refused = _with_settings(replicas, settings, document.spec)
        sample = replace(sample, addresses=addresses)
        problems += refused
    return Explanation(
        document=document,
        problems=check_switches.all_with_flags(problems),
        sample=sample,
        replicas=tuple(replicas),
        sizing=_sizing(document),
        framework=settings,
    )


def has_tasks(spec: CustomJobSpec) -> bool:
    """Whether any pool says what it runs. Reduction servers do not count: roles have their image too."""
    return any(
        pool.task is not None and not (i == SERVERS and role_of(i, pool) is Role.REDUCTION_SERVER)
        for i, pool in enumerate(spec.worker_pool_specs)
    )


def is_bare(spec: CustomJobSpec) -> bool:
    """Whether there is nothing beside the pools."""
    return replace(spec, worker_pool_specs=()) == CustomJobSpec(display_name="", worker_pool_specs=())


def source_of(problem: Problem) -> str:
    """The document that has the broken rule; "" where no rule is broken, as in what cannot be read."""
    ours = {rule.name: rule.source for rule in replica_limits.RULES}
    return rule_index.source_of(problem.rule) or ours.get(problem.rule, "")


def _replicas(
    document: Document, spec: CustomJobSpec, contract: Contract, sample: Sample
) -> list[ExplainedReplica]:
    environments = job_environments(
        spec,
        contract=contract,
        job_id=sample.job_id,
        project_number=sample.project_number,
        location=sample.location,
        trial=sample.trial,
    )
    legacy: dict[tuple[int, int], ReplicaEnvironment] = {}
    if document.training_input is not None:
        legacy = {
            (each.pool, each.index): each
            for each in ai_platform_environments(
                document.training_input,
                job_id=sample.job_id,
                project_number=sample.project_number,
                location=sample.location,
                trial=sample.trial,
            )
        }
    slices = explain_slices.machines_of_slices(spec)
    return [
        ExplainedReplica(
            environment=each,
            machines=slices.get(each.pool, 1),
            ai_platform=legacy.get((each.pool, each.index)),
            on_emulator=local_device_variables(spec.worker_pool_specs[each.pool], each.variables),
        )
        for each in environments
    ]


def _sizing(document: Document) -> Sizing | None:
    """Of reduction servers that are declared, as for those that are asked for as "auto"."""
    if document.sizing is not None or document.spec is None:
        return document.sizing
    pools = document.spec.worker_pool_specs
    if (
        len(pools) <= SERVERS
        or pools[CHIEF].is_empty
        or role_of(SERVERS, pools[SERVERS]) is not Role.REDUCTION_SERVER
    ):
        return None
    try:
        return reduction_servers.size(
            pools[CHIEF], pools[WORKERS], machine_type=pools[SERVERS].machine_type, location=document.location
        )
    except ValueError:
        return None  # a bandwidth that is not known; the rules have said so


def _with_settings(
    replicas: Sequence[ExplainedReplica], framework: str, spec: CustomJobSpec | None
) -> tuple[list[ExplainedReplica], dict[str, str], list[Problem]]:
    """The replicas with what the framework has to be told, the invented addresses in it, or why it cannot be
    told."""
    if not replicas or spec is None:
        return list(replicas), {}, []
    for position, count in explain_slices.machines_of_slices(spec).items():
        warning = replica_limits.SLICE_SETTINGS.broken(
            "framework",
            f"each replica of worker pool {position} is a TPU slice of {count} machines, so that settings of "
            f"{framework} which count replicas would be wrong; none are shown",
        )
        return list(replicas), {}, [warning]
    cluster = replicas[0].environment.cluster_spec or {}
    pools = tuple(tuple(cluster.get("cluster", {}).get(f"workerpool{i}", ())) for i in range(4))
    if not pools[CHIEF]:
        pools = (tuple(cluster.get("cluster", {}).get("chief", ())), *pools[1:])
    addresses = dict(_sample_addresses(pools))
    asked: dict[str, str] = {}

    def resolve(host: str) -> str:
        return asked.setdefault(host, addresses[host])

    slots = _slots(spec) if framework in ("torchrun", "horovod") else 1
    told = []
    for replica in replicas:
        here = Cluster(
            pools=pools, pool=replica.environment.pool, index=replica.environment.index, source="CLUSTER_SPEC"
        )
        try:
            settings = framework_settings.settings(here, framework, slots=slots, resolve=resolve)
        except ClusterError as error:
            return list(replicas), {}, [Problem(path="framework", message=str(error))]
        told.append(replace(replica, framework_settings=settings))
    return told, asked, []


def _sample_addresses(pools: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """An IP address for every host, for frameworks that do not work with names."""
    for number, address in enumerate(itertools.chain.from_iterable(pools), start=2):
        yield address.rpartition(":")[0], f"10.128.{number // 256}.{number % 256}"


def _slots(spec: CustomJobSpec) -> int:
    """Processes on each machine: one for each of the chief's accelerators."""
    machine = spec.worker_pool_specs[CHIEF].machine_spec
    return max(1, machine.accelerator_count if machine else 1)
