"""Read: how a job stands, and what the service has of it."""

from __future__ import annotations

import dataclasses
from typing import Any

from pulumi.dynamic import ReadResult

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.provider import inbound, outbound
from pulumi_vertex_training.plugin.running.declaration import Declared
from pulumi_vertex_training.plugin.running.judgement import has_ended
from pulumi_vertex_training.plugin.running.outputs import facts
from pulumi_vertex_training.plugin.running.plan import completed
from pulumi_vertex_training.runs.rerun import Policy


def read(declared: Declared, id_: str, props: dict[str, Any]) -> ReadResult:
    """The recorded outputs with the service's; nothing of a job that is certainly not there."""
    raw = inbound(props)
    try:
        record = declared.kind.get(endpoint_of(raw), id_)
    except NotFound:
        if has_ended(raw) or raw.get("rerun") == Policy.NEVER.value or raw.get("adopt"):
            # A finished job is a steady state, and one that is not to be run again is not forgotten. One
            # that was adopted cannot be adopted once more: the next plan sees that it is gone.
            return ReadResult(id_, outbound(raw))
        return ReadResult(None, {})
    inputs = _as_it_lives(declared, raw, record)
    return ReadResult(
        id_, outbound({**raw, **(inputs or {}), **facts(declared, record)}), inputs and outbound(inputs)
    )


def _as_it_lives(declared: Declared, recorded: dict[str, Any], record: JobRecord) -> dict[str, Any] | None:
    """The recorded inputs with what the service has instead; None where it has just that.

    A job cannot be changed, so this is a state that was put together by hand, or a service that took the job
    for another one than was sent. The hash then is the living job's, and the next plan shows the difference.
    """
    inputs = {name: recorded[name] for name in declared.input_names if name in recorded}
    draft = declared.read_inputs(inputs).draft
    if draft is None or not record.wire:
        return None
    spec = declared.spec_of(draft)
    lives = declared.spec.as_live(spec, record.wire)
    if lives is spec:
        return None
    values = {name: getattr(lives, name) for name in declared.spec_fields}
    return {**inputs, **completed(declared, dataclasses.replace(draft, **values), frozenset())}
