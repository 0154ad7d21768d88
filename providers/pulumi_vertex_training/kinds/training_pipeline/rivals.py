"""Several pipelines of one program that would make the same model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.plugin.connection import connect_if_running
from pulumi_vertex_training.plugin.operation import OPERATION, Operation
from pulumi_vertex_training.plugin.remote_queries import QUERIES, RemoteQueries
from pulumi_vertex_training.plugin.running.declaration import root
from pulumi_vertex_training.plugin.settings import Target
from pulumi_vertex_training.runs.standing import Look
from vertex_training.findings.problems import Problem

_BASES = frozenset({"endpoint", "project", "location", "model_id", "parent_model"})


def rival(
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
    if found not in (None, Look.ABSENT):
        return None
    return Problem(
        path="model_id",
        message=f"{inputs.model_id!r} is the model_id of pipeline {first!r}, too. Unless there is such a "
        "model already, the pipeline that ends first makes it, and the other fails after its training. Give "
        'this one parent_model=other.model instead, and the other pipeline wait="done"; or choose another '
        "model_id",
        level="error" if found is Look.ABSENT else "warning",
    )


def _look(inputs: Any, name: str, operation: Operation, questions: RemoteQueries) -> Any:
    """The model; `Look.ABSENT` where there is none, and where no emulator runs that could have one; None
    without an answer."""
    target = Target(inputs.endpoint, inputs.project, inputs.location)

    def ask() -> Any:
        endpoint = connect_if_running(*target, operation.settings)
        return Look.ABSENT if endpoint is None else models.get(endpoint, name)

    return questions.ask(target, ask, unknown=f"whether there is a model {inputs.model_id}")
