"""The files of a model: of a job that wrote none (yet), and the lineage of the run that wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.runs.lineage.files import above
from vertex_training.fields import uris
from vertex_training.fields.document import json_of
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
        OPERATION.print_once(f"model {name} keeps its files: the job of its {_INPUT} has not written a model")
    return {**call.inputs, _INPUT: files or ""}


def lineage_of(endpoint: Endpoint, record: ModelRecord) -> dict[str, Any] | None:
    """Return the lineage of the run in whose directory a version's files are, as in lineage.json.

    None if there is no such run, if several runs share the directory, and if the bucket cannot be read.
    """
    address = uris.parse_or_none(str(record.wire.get("artifactUri") or ""))
    if address is None:
        return None
    try:
        found = above(endpoint, address)
    except CloudError:
        return None
    return dict(json_of(found[0])) if len(found) == 1 else None
