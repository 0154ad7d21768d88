"""Read: the state of a job, and its spec as the service has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pulumi.dynamic import ReadResult

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.provider import inbound, outbound
from pulumi_vertex_training.plugin.running.declaration import JobResourceType
from pulumi_vertex_training.plugin.running.hidden_input import (
    hide_in_job,
    hide_in_job_outputs,
    put,
    reveal_job,
)
from pulumi_vertex_training.plugin.running.plan import completed
from pulumi_vertex_training.plugin.running.rerun_decision import has_ended
from pulumi_vertex_training.runs.rerun import Policy
from vertex_training.job.job_kind import DIRECTORY


def read(declared: JobResourceType, id_: str, props: dict[str, Any]) -> ReadResult:
    """The recorded outputs with the service's; nothing of a job that is certainly not there."""
    raw = reveal_job(inbound(props))
    try:
        record = declared.kind.get(endpoint_of(raw), id_)
    except NotFound:
        if has_ended(raw) or raw.get("rerun") == Policy.NEVER.value or raw.get("adopt"):
            # A finished job is a steady state, and one that is not to be run again is not forgotten. One
            # that was adopted cannot be adopted once more: the next plan sees that it is gone.
            return ReadResult(id_, outbound(inbound(props)))
        return ReadResult(None, {})
    inputs = _as_live(declared, raw, record)
    outs = hide_in_job_outputs({**raw, **(inputs or {}), **facts(declared, record)})
    return ReadResult(id_, outbound(outs), inputs and outbound(hide_in_job(inputs)))


def _as_live(declared: JobResourceType, recorded: dict[str, Any], record: JobRecord) -> dict[str, Any] | None:
    """Return the recorded inputs with the service's values; None where they are the same.

    A job cannot be changed, so this is a state that was put together by hand, or a service that took the job
    for another one than was sent. The hash is then the live job's, and the next plan shows the difference.
    """
    inputs = {name: recorded[name] for name in declared.input_names if name in recorded}
    draft = declared.read_inputs(inputs).draft
    if draft is None or not record.wire:
        return None
    spec = declared.spec_of(draft)
    live = declared.spec.as_live(spec, record.wire)
    if live is spec:
        return None
    values = {name: getattr(live, name) for name in declared.spec_fields}
    return {**inputs, **completed(declared, dataclasses.replace(draft, **values), frozenset())}


def facts(declared: JobResourceType, record: JobRecord) -> dict[str, Any]:
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


def with_directory(
    declared: JobResourceType, props: Mapping[str, Any], directory: str | None
) -> dict[str, Any]:
    """The outputs with the directory that the job writes to: as an output of its own, and where the inputs
    have it.
    """
    inputs = declared.read_inputs(_inputs(declared, props)).draft
    path = None if inputs is None else declared.spec.directory_path(inputs)
    placed = props if path is None else put(props, path.split("."), directory)
    return {**placed, DIRECTORY: directory}


def _inputs(declared: JobResourceType, props: Mapping[str, Any]) -> dict[str, Any]:
    known = inbound(props)
    return {name: known[name] for name in declared.input_names if name in known}
