"""The provider of `TrainingPipeline`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from pulumi_vertex_training.kinds.training_pipeline import kind as training_pipeline_kind
from pulumi_vertex_training.kinds.training_pipeline import results as uploaded_models
from pulumi_vertex_training.kinds.training_pipeline.gateway import GATEWAY
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from pulumi_vertex_training.plugin.connection import connect_if_running
from pulumi_vertex_training.plugin.operation import OPERATION, Operation
from pulumi_vertex_training.plugin.remote_queries import QUERIES, RemoteQueries
from pulumi_vertex_training.plugin.running.declaration import JobInputs, JobResourceType, root
from pulumi_vertex_training.plugin.running.provider import JobProvider
from pulumi_vertex_training.plugin.settings import Target
from pulumi_vertex_training.runs.run_status import LookupResult
from vertex_training.findings.problems import Problem

_BASES = frozenset({"endpoint", "project", "location", "model_id", "parent_model"})


def conflict(
    inputs: Any,
    unknown: Collection[str],
    *,
    operation: Operation = OPERATION,
    questions: RemoteQueries = QUERIES,
) -> Problem | None:
    """That another pipeline of this program makes the model as well; None for a model that is there already,
    which gets a version of each, and a warning where that is not known.

    The service finds it out when both have trained: one uploads the model, the others fail.
    """
    me = str(inputs.marks.get("resource", ""))
    if not inputs.model_to_upload or not inputs.model_id or inputs.parent_model or not me:
        return None
    if _BASES & set(map(root, unknown)):
        return None
    name = f"projects/{inputs.project}/locations/{inputs.location}/models/{inputs.model_id}"
    first = operation.claim(f"the making of {name}", me)
    if first == me:
        return None
    found = _look(inputs, name, operation, questions)
    if found not in (None, LookupResult.ABSENT):
        return None
    return Problem(
        path="model_id",
        message=f"{inputs.model_id!r} is the model_id of pipeline {first!r}, too. Unless there is such a "
        "model already, the pipeline that ends first makes it, and the other fails after its training. Give "
        'this one parent_model=other.model instead, and the other pipeline wait="done"; or choose another '
        "model_id",
        level="error" if found is LookupResult.ABSENT else "warning",
    )


def _look(inputs: Any, name: str, operation: Operation, questions: RemoteQueries) -> Any:
    """The model; `LookupResult.ABSENT` where there is none, or no emulator runs that could have one; None
    without an answer.
    """
    target = Target(inputs.endpoint, inputs.project, inputs.location)

    def ask() -> Any:
        endpoint = connect_if_running(*target, operation.settings)
        return LookupResult.ABSENT if endpoint is None else models.get(endpoint, name)

    return questions.ask(target, ask, unknown=f"whether there is a model {inputs.model_id}")


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineInputs(OnPersistentResource, JobInputs, TrainingPipelineSpec):
    """The inputs of a `TrainingPipeline`."""


DECLARED = JobResourceType(
    checks=(fit_rules.problems,),
    gateway=GATEWAY,
    spec=training_pipeline_kind.KIND,
    inputs=TrainingPipelineInputs,
    outputs=uploaded_models.outputs,
    results=uploaded_models.results,
    no_results=uploaded_models.NO_MODEL,
    progress=uploaded_models.progress,
    log_of=uploaded_models.log_of,
    discard=uploaded_models.discard,
    conflict=conflict,
)


class TrainingPipelineProvider(JobProvider):
    """A training pipeline."""

    declared = DECLARED
