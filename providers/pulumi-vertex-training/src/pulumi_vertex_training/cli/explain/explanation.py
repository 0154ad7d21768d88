"""Make the explanation of a document for `explain`, of no more replicas than can be listed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pulumi_vertex_training.cli import check_switches
from pulumi_vertex_training.cli.explain import documents
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs.declared import cost_of, decides
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job.document import LegacyDocument
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.environment import ai_platform_environments
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import role_counts
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import persistent_resource_problems
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from pulumi_vertex_training.views import pools_view
from pulumi_vertex_training.views.explained import (
    SAMPLE_JOB_ID,
    SAMPLE_LOCATION,
    SAMPLE_PROJECT_NUMBER,
    ExplainedReplica,
    Explanation,
    Sample,
)
from pulumi_vertex_training.views.kind_view import view_of_document
from vertex_cluster import frameworks as framework_settings
from vertex_cluster.cluster import Cluster, ClusterError
from vertex_training.cost.cost import Cost
from vertex_training.fields.schema import written_path
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, errors
from vertex_training.findings.rules import Rule
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.framework_choices import preset_of
from vertex_training.job.rules.job_spec import below
from vertex_training.replica_environment.job_variables import local_device_variables
from vertex_training.replica_environment.replica import Contract, ReplicaEnvironment, job_environments
from vertex_training.topology.roles import CHIEF, MAX_POOLS, SERVERS, WORKERS, Role, role_of
from vertex_training.topology.rules import reduction_servers
from vertex_training.topology.rules.reduction_servers import Sizing
from vertex_training.topology.variables import LONG_VARIABLE

MAX_REPLICAS = 2_000

LISTED_REPLICAS = Rule(
    name="listed-replicas",
    says=f"the environments of at most {MAX_REPLICAS} replicas are listed",
    source="ours: each replica's environment has the addresses of all of them",
    level="warning",
)
SLICE_SETTINGS = Rule(
    name="tpu-slice-settings",
    says="settings of a framework are shown for replicas that are one machine each",
    source="ours: no document says what the other machines of a TPU slice have in their environment",
    level="warning",
)
RULES = (LISTED_REPLICAS, SLICE_SETTINGS)


def can_be_listed(document: Document[CustomJobSpec]) -> bool:
    """Return whether the number and the roles of the replicas are declared without an error."""
    if document.spec is None:
        return False
    pools = document.spec.worker_pool_specs
    counts = [pool.replica_count for pool in pools]
    guessed = {"", "worker_pool_specs"}
    for position in range(MAX_POOLS):
        guessed |= {f"worker_pool_specs[{position}]", f"worker_pool_specs[{position}].replica_count"}
    return (
        len(counts) <= MAX_POOLS
        and counts[: CHIEF + 1] == [1]
        and min(counts) >= 0
        and not guessed & document.damaged
        and not any(problem.rule == LONG_VARIABLE.name for problem in document.problems)
    )


def limit_problems(document: Document[CustomJobSpec]) -> Iterator[Problem]:
    """Yield a problem if there are too many replicas to list."""
    pools = document.spec.worker_pool_specs if document.spec else ()
    count = sum(pool.replica_count for pool in pools)
    if isinstance(document, LegacyDocument):
        count = max(count, sum(role_counts(document.training_input)))
    if count > MAX_REPLICAS:
        yield LISTED_REPLICAS.broken(
            "worker_pool_specs",
            f"{count} replicas are too many to list their environments; at most {MAX_REPLICAS} are listed. "
            "Try fewer replicas",
        )


__all__ = ["SAMPLE_JOB_ID", "SAMPLE_LOCATION", "SAMPLE_PROJECT_NUMBER", "explanation_of"]


def explanation_of(
    value: object,
    *,
    options: CheckOptions,
    contract: Contract = "observed",
    trial: str | None = None,
    settings: str | None = None,
    framework: str | None = None,
    resource: PersistentResource | None = None,
) -> Explanation:
    """Explain the plain values of a file.

    `settings` is the framework whose settings are shown, `framework` the one whose preset is. `resource` is
    the persistent resource on which the job should run. Raises InputError for a trial that the tuning job
    does not have.
    """
    document = documents.read_document(value, options=options)
    path, job = documents.job_in(document)
    sample = Sample(location=document.location or SAMPLE_LOCATION, trial=trial)
    if document.spec is not None:
        sample = view_of_document(document).sample(document, sample)
    found: list[Problem] = []
    if resource is not None and job.spec is not None:
        found += persistent_resource_problems(job.spec, resource)
    replicas: Sequence[ExplainedReplica] = ()
    if job.spec is not None and can_be_listed(job):
        beyond = list(limit_problems(job))
        found += beyond
        if not beyond:
            replicas = _replicas(job, job.spec, contract, sample)
    if settings is not None:
        replicas, addresses, refused = _with_settings(replicas, settings, job.spec)
        sample = replace(sample, addresses=addresses)
        found += refused
    written = (
        replace(problem, path=written_path(problem.path, document.origins)) for problem in below(found, path)
    )
    return Explanation(
        document=document,
        job=job,
        problems=check_switches.all_with_flags([*document.problems, *written]),
        sample=sample,
        replicas=tuple(replicas),
        sizing=_sizing(job),
        framework=settings,
        preset=preset_of(framework),
        cost=_cost(document, sample.location),
        machines_cost=cost_of(resource, region=sample.location, table=current_prices()),
    )


def _cost(document: Document[Any], location: str) -> Cost | None:
    """Return the cost of the whole document, or None if a value that decides about it is wrong or missing."""
    wrong = (problem.path for problem in errors(document.problems))
    if document.spec is None or any(map(decides, (*document.damaged, *document.unsaid, *wrong))):
        return None
    return cost_of(document.spec, region=location, table=current_prices())


def _replicas(
    document: Document[CustomJobSpec], spec: CustomJobSpec, contract: Contract, sample: Sample
) -> list[ExplainedReplica]:
    environments = job_environments(
        spec,
        contract=contract,
        job_id=sample.job_id,
        project_number=sample.project_number,
        location=sample.location,
        trial=sample.trial,
        metric_tag=sample.metric_tag,
        data=sample.data,
    )
    legacy: dict[tuple[int, int], ReplicaEnvironment] = {}
    if isinstance(document, LegacyDocument):
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
    slices = pools_view.machines_of_slices(spec)
    return [
        ExplainedReplica(
            environment=each,
            machines=slices.get(each.pool, 1),
            ai_platform=legacy.get((each.pool, each.index)),
            on_emulator=local_device_variables(spec.worker_pool_specs[each.pool], each.variables),
        )
        for each in environments
    ]


def _sizing(document: Document[CustomJobSpec]) -> Sizing | None:
    """Return the sizing of reduction servers, also of declared ones, or None without any."""
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
        return None  # the bandwidth is unknown, which the rules report


def _with_settings(
    replicas: Sequence[ExplainedReplica], framework: str, spec: CustomJobSpec | None
) -> tuple[list[ExplainedReplica], dict[str, str], list[Problem]]:
    """Return the replicas with the framework's settings, the sample addresses used, and problems.

    With a problem, the replicas have no settings.
    """
    if not replicas or spec is None:
        return list(replicas), {}, []
    for position, count in pools_view.machines_of_slices(spec).items():
        warning = SLICE_SETTINGS.broken(
            "framework",
            f"each replica of worker pool {position} is a TPU slice of {count} machines, so settings of "
            f"{framework} that count replicas would be wrong; they are not shown",
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
    configured = []
    for replica in replicas:
        here = Cluster(
            pools=pools, pool=replica.environment.pool, index=replica.environment.index, source="CLUSTER_SPEC"
        )
        try:
            settings = framework_settings.settings(here, framework, slots=slots, resolve=resolve)
        except ClusterError as error:
            return list(replicas), {}, [Problem(path="framework", message=str(error))]
        configured.append(replace(replica, framework_settings=settings))
    return configured, asked, []


def _sample_addresses(pools: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield a sample IP address for every host, for frameworks that do not accept names."""
    for number, address in enumerate(itertools.chain.from_iterable(pools), start=2):
        yield address.rpartition(":")[0], f"10.128.{number // 256}.{number % 256}"


def _slots(spec: CustomJobSpec) -> int:
    """Return the number of processes on each machine: one for each of the chief's accelerators."""
    machine = spec.worker_pool_specs[CHIEF].machine_spec
    return max(1, machine.accelerator_count if machine else 1)
