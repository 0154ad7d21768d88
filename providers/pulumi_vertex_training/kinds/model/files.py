"""The files of a model whose `artifact_uri` comes from a job that has no model: it failed, or goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from pulumi_vertex_training.plugin.operation import OPERATION
from vertex_training.findings.problems import Problem

_INPUT = "artifact_uri"

MISSING = Problem(
    path=_INPUT,
    message="is None: the job that it comes from has not succeeded, or not yet. Give the job "
    'wait="done", or run `pulumi up` again when it has ended',
)


def told(artifact_uri: pulumi.Input[str] | None) -> pulumi.Input[str] | None:
    """The input, in which an output that turns out to be None is "": None would say that there are none."""
    if not isinstance(artifact_uri, pulumi.Output):
        return artifact_uri
    return artifact_uri.apply(lambda known: "" if known is None else known)


def are_there(inputs: Mapping[str, Any]) -> bool:
    """Whether the files are known, or none are declared."""
    return inputs.get(_INPUT) != ""


def kept(olds: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a check: a version that is there keeps its files until there are others.

    A check for a replacement does not see the old inputs: it is the second one of the same resource.
    """
    if are_there(news):
        return dict(news)
    name = (news.get("marks") or {}).get("resource", "")
    if files := olds.get(_INPUT):
        OPERATION.note_recorded_value(_INPUT, name, files)
        OPERATION.say_once(f"model {name} keeps its files: the job that its {_INPUT} comes from has no model")
    return {**news, _INPUT: files or OPERATION.recorded_value(_INPUT, name) or ""}
