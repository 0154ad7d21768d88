"""The files of a model whose `artifact_uri` comes from a job without a model: it failed, or still runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def keep_recorded(olds: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a check, in which an existing version keeps its files until there are others.

    The check for a replacement is the second one of a resource, and does not get the old inputs.
    """
    if are_known(news):
        return dict(news)
    name = (news.get("marks") or {}).get("resource", "")
    if files := olds.get(_INPUT):
        OPERATION.note_recorded_value(_INPUT, name, files)
        OPERATION.say_once(f"model {name} keeps its files: the job of its {_INPUT} has not written a model")
    return {**news, _INPUT: files or OPERATION.recorded_value(_INPUT, name) or ""}
