"""The provider of `CustomJob`."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.core.running.provider import JobProvider
from pulumi_vertex_training.kinds.custom_job import kind as custom_job_kind
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.kinds.custom_job.replica_counts import replica_counts
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.ladder import OnLadder


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(OnLadder, OnPersistentResource, JobInputs, CustomJobSpec):
    """The inputs of a `CustomJob`."""


DECLARED = JobResourceType(
    checks=(fit_rules.problems,),
    on_machines=fit_rules.problems_on,
    gateway=GATEWAY,
    spec=custom_job_kind.KIND,
    inputs=CustomJobInputs,
    progress=replica_counts,
)


class CustomJobProvider(JobProvider):
    """The provider of `CustomJob`."""

    declared = DECLARED
