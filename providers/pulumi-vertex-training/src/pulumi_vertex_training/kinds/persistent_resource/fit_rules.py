"""The checks of jobs on a persistent resource: machines, network, key, account and parallel trials."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, from_wire, normalise
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem, known
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.job_spec import EncryptionSpec, JobSpec, parts
from vertex_training.topology.rules.resource_pools import jobs_at_once, resource_pool_problems

if TYPE_CHECKING:
    from vertex_training.study.tuning import TuningSpec

_ID = 'Vertex AI API, CustomJobSpec.persistent_resource_id: "otherwise, the job will be rejected"'

RESOURCE_NETWORK = Rule(
    name="persistent-resource-network",
    says="a job on a persistent resource has the network of the resource",
    source=_ID,
)
RESOURCE_KEY = Rule(
    name="persistent-resource-key",
    says="a job on a persistent resource has the encryption key of the resource",
    source=_ID,
)
RESOURCE_SERVICE_ACCOUNT = Rule(
    name="persistent-resource-service-account",
    says="a job has a service account on a persistent resource that enforces one, and only there",
    source="Vertex AI API, ServiceAccountSpec.enable_custom_service_account",
)
RESOURCE_TRIALS = Rule(
    name="persistent-resource-trials",
    says="the parallel trials of a tuning job fit on the persistent resource",
    source='Vertex AI documentation, "Run training jobs on a persistent resource": jobs wait in a queue '
    "while its machines are in use",
    level="warning",
)


@dataclass(frozen=True, kw_only=True)
class OnPersistentResource:
    """The inputs of a job with the persistent resource on which it runs, as the program declares it.

    The field is used by the checks only, not by the diff or the hash.
    """

    persistent_resource: PersistentResource | None = None


def problems(inputs: OnPersistentResource) -> list[Problem]:
    """Return the problems of a job on the persistent resource that the same program declares."""
    if inputs.persistent_resource is None:
        return []
    return [
        replace(problem, rests_on=(*problem.rests_on, "persistent_resource.*"))
        for problem in persistent_resource_problems(inputs, normalise(inputs.persistent_resource))
    ]


def problems_on(
    inputs: OnPersistentResource, wire: Mapping[str, Any], unknown: Collection[str]
) -> list[Problem]:
    """Return the problems of a job on an existing persistent resource, given in the API's JSON.

    `unknown` are the paths of inputs that are not known yet.
    """
    try:
        live = from_wire(wire)
    except ValueError:
        return []  # of a newer version of the API
    return list(known(persistent_resource_problems(inputs, live), unknown))


def persistent_resource_problems(spec: object, resource: PersistentResource) -> Iterator[Problem]:
    """Yield the problems of a custom job, tuning job or pipeline on a persistent resource."""
    running = list(parts(spec))
    for path, part in running:
        yield from _part_problems(part, resource, path)
    if running:
        chosen = child(running[0][0], "persistent_resource_id")
        yield from _key_problems(getattr(spec, "encryption_spec", None), resource, chosen)
    for path, tuning in _tunings(spec):
        yield from _trial_problems(tuning, resource, path)


def _part_problems(part: JobSpec, resource: PersistentResource, path: str) -> Iterator[Problem]:
    chosen = child(path, "persistent_resource_id")
    yield from resource_pool_problems(
        part.worker_pool_specs, resource.resource_pools, child(path, "worker_pool_specs"), chosen=chosen
    )
    if (part.network or None) != (resource.network or None):
        at = child(path, "network")
        yield RESOURCE_NETWORK.broken(
            at, _difference("network", part.network, resource.network), rests_on=(at, chosen)
        )
    yield from _account_problems(part, resource, path)


def _key_problems(
    declared: EncryptionSpec | None, resource: PersistentResource, chosen: str
) -> Iterator[Problem]:
    """Yield the problem of the encryption key, which is a field of the resource, not of its job spec."""
    key = declared.kms_key_name if declared else None
    wanted = resource.encryption_spec.kms_key_name if resource.encryption_spec else None
    if (key or None) != (wanted or None):
        yield RESOURCE_KEY.broken(
            "encryption_spec.kms_key_name",
            _difference("key", key, wanted),
            rests_on=("encryption_spec.*", chosen),
        )


def _trial_problems(tuning: TuningSpec, resource: PersistentResource, path: str) -> Iterator[Problem]:
    job, at = child(path, "trial_job_spec"), child(path, "parallel_trial_count")
    capacity = jobs_at_once(tuning.trial_job_spec.worker_pool_specs, resource.resource_pools)
    if capacity is not None and tuning.parallel_trial_count > capacity:
        yield RESOURCE_TRIALS.broken(
            at,
            f"{tuning.parallel_trial_count} trials in parallel, but the persistent resource can run only "
            f"{capacity}; the others wait. Set it to {capacity}, or enlarge the resource's pools",
            rests_on=(at, f"{child(job, 'worker_pool_specs')}.*", child(job, "persistent_resource_id")),
        )


def _tunings(spec: object, path: str = "") -> Iterator[tuple[str, TuningSpec]]:
    """Yield every tuning in a spec with its path: "" in a tuning job, "tuning_task" in a pipeline."""
    # Imported here: studies load slowly, and most programs declare no persistent resource.
    from vertex_training.study.tuning import TuningSpec

    if isinstance(spec, TuningSpec):
        yield path, spec
    elif is_dataclass(spec) and not isinstance(spec, type):
        for item in fields(spec):
            yield from _tunings(getattr(spec, item.name), child(path, item.name))


def _account_problems(part: JobSpec, resource: PersistentResource, path: str) -> Iterator[Problem]:
    runtime = resource.resource_runtime_spec
    account = runtime.service_account_spec if runtime else None
    at = child(path, "service_account")
    bases = (at, child(path, "persistent_resource_id"))
    if account and account.enable_custom_service_account:
        if not part.service_account and not account.service_account:
            yield RESOURCE_SERVICE_ACCOUNT.broken(
                at,
                "is missing, but jobs on the persistent resource need one. Give its e-mail address",
                rests_on=bases,
            )
    elif part.service_account:
        yield RESOURCE_SERVICE_ACCOUNT.broken(
            at,
            f"{shown(part.service_account)}, but jobs on the persistent resource run as the service "
            "agent. Leave it out, or enable custom service accounts in its resource_runtime_spec",
            rests_on=bases,
            level="warning",
        )


def _difference(noun: str, given: str | None, wanted: str | None) -> str:
    if not wanted:
        return f"{shown(given or '')}, but the persistent resource has no {noun}. Leave it out"
    start = f"{shown(given)} is not the {noun} of the persistent resource" if given else "is missing"
    return f"{start}. Give the {noun} {wanted} of the persistent resource"
