"""The custom job as Pulumi declares it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pulumi_vertex_training.declaration import Declared, RunningInputs
from pulumi_vertex_training.replica_counts import replica_counts
from vertex_training.lifecycle import kinds
from vertex_training.specs import custom_job_kind
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.persistent_resource import PersistentResource, normalise
from vertex_training.specs.persistent_resource_rules import persistent_resource_problems
from vertex_training.topology.problems import Problem


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(RunningInputs, CustomJobSpec):
    """The inputs of a `CustomJob`. `persistent_resource` is what is declared of the one that it runs on, for
    the checks alone: it takes no part in a diff or in the hash."""

    persistent_resource: PersistentResource | None = None


def _on_persistent_resource(inputs: CustomJobInputs) -> list[Problem]:
    """What of the job does not fit on the persistent resource that this program declares."""
    if inputs.persistent_resource is None:
        return []
    resource = normalise(inputs.persistent_resource)
    return [
        replace(problem, rests_on=(*problem.rests_on, "persistent_resource.*"))
        for problem in persistent_resource_problems(inputs, resource)
    ]


DECLARED = Declared(
    kind=kinds.CUSTOM_JOB,
    spec=custom_job_kind.CUSTOM_JOB,
    inputs=CustomJobInputs,
    surroundings=_on_persistent_resource,
    progress=replica_counts,
)
