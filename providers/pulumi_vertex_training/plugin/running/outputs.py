"""What the service says of a job, as outputs of its resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.provider import inbound
from pulumi_vertex_training.plugin.running.declaration import Declared
from vertex_training.job.job_kind import DIRECTORY


def facts(declared: Declared, record: JobRecord) -> dict[str, Any]:
    """The outputs besides the inputs and the output directory."""
    return {
        "name": record.name,
        "job_id": record.job_id,
        "state": record.state_name,
        "create_time": record.create_time,
        "start_time": record.start_time,
        "end_time": record.end_time,
        "error": record.error.message if record.error else None,
        **declared.outputs(record),
    }


def with_directory(declared: Declared, props: Mapping[str, Any], directory: str | None) -> dict[str, Any]:
    """The outputs with the directory that the job writes to: as an output of its own, and where the inputs
    have it."""
    inputs = declared.read_inputs(_inputs(declared, props)).draft
    path = None if inputs is None else declared.spec.directory_path(inputs)
    placed = props if path is None else _put(props, path.split("."), directory)
    return {**placed, DIRECTORY: directory}


def _inputs(declared: Declared, props: Mapping[str, Any]) -> dict[str, Any]:
    known = inbound(props)
    return {name: known[name] for name in declared.input_names if name in known}


def _put(props: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    first, *rest = path
    inner = props.get(first)
    if rest and not isinstance(inner, Mapping):
        return dict(props)
    return {**props, first: _put(inner, rest, value) if rest and inner is not None else value}
