"""Delete: the job is cancelled, waited for, and its record deleted, as `on_delete` says."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.process import say
from pulumi_vertex_training.plugin.provider import inbound
from pulumi_vertex_training.plugin.running.declaration import RECORD, JobResourceType
from pulumi_vertex_training.plugin.running.hidden_input import reveal_job
from pulumi_vertex_training.plugin.running.rerun_decision import allow_on_demand
from pulumi_vertex_training.runs.deletion import delete_run
from pulumi_vertex_training.runs.deletion_policy import OnDelete


def delete(declared: JobResourceType, id_: str, props: dict[str, Any]) -> None:
    """Return when nothing is left to do. A job that another resource has adopted is left alone."""
    raw = reveal_job(inbound(props))
    if OPERATION.made(id_) or OPERATION.belongs_to_another_entry(id_, raw):
        return
    OPERATION.note_released(id_)
    OPERATION.note_recorded_run(raw.get("run"))
    name, endpoint = declared.resource(raw), endpoint_of(raw)
    now = OPERATION.declared_run(str(raw.get("run")))
    same_run = now is not None and now.key == raw.get("run")
    if now is not None and same_run and not OPERATION.was_compared(id_):
        # Replaced without a comparison: `pulumi up --replace`.
        allow_on_demand(name, now, lambda: declared.kind.get(endpoint, id_).state.name)

    def tell(line: str) -> None:
        say(f"{name}: {line}")

    delete_run(
        declared.kind,
        endpoint,
        id_,
        label=name,
        tell=tell,
        before_delete=declared.before_delete(
            replaced=now is not None or OPERATION.is_deleted_first(id_), tell=tell
        ),
        on_delete=OnDelete(raw.get("on_delete") or RECORD["on_delete"]),
        protect_running=now.protect_running if now else bool(raw.get("protect_running")),
    )
