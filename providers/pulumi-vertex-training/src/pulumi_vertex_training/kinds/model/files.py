"""The files of a model whose `artifact_uri` comes from a job without a model: it failed, or still runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.operation import OPERATION
from vertex_training.findings.problems import Problem

_INPUT = "artifact_uri"

MISSING = Problem(
    path=_INPUT,
    message='is None: its job has failed, or has not ended yet. Give the job wait="done", or run `pulumi '
    "up` again when it has ended",
)


def are_known(inputs: Mapping[str, Any]) -> bool:
    """Return whether the files are known or undeclared."""
    return inputs.get(_INPUT) != ""


def keep_recorded(call: Call) -> dict[str, Any]:
    """Return the inputs of a check, in which an existing version keeps its files until there are others."""
    if are_known(call.inputs):
        return call.inputs
    name = (call.inputs.get("marks") or {}).get("resource", "")
    if files := call.context.recorded.get(_INPUT):
        OPERATION.say_once(f"model {name} keeps its files: the job of its {_INPUT} has not written a model")
    return {**call.inputs, _INPUT: files or ""}
