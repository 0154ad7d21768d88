"""Orphaned jobs: those that a killed deployment submitted and no state recorded.

The next deployment of the same run adopts such a job (`submission`). Where the declaration was changed or
taken out before, no run is left to adopt it, and it would go on unseen: it is found by the part of the key
that all runs of a declaration share.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.deletion import delete_run
from pulumi_vertex_training.runs.deletion_policy import OnDelete
from pulumi_vertex_training.runs.identity import RUN_LABEL, RunKey, parse
from pulumi_vertex_training.runs.kinds import Kind
from vertex_training.fields.resource_names import resource_id


def delete_orphaned_runs(
    kind: Kind,
    endpoint: Endpoint,
    key: RunKey,
    *,
    recorded: int,
    among: Iterable[Any] | None = None,
    tell: Callable[[str], None],
    before_delete: Callable[[Endpoint, str], None] | None = None,
    on_delete: OnDelete = OnDelete.DELETE,
    protect_running: bool = False,
    keep: Container[str] = frozenset(),
) -> None:
    """Stop and remove what lives on of the runs after `recorded`, up to that of `key`.

    `recorded`: the generation whose job the state knew before this deployment, 0 without one. Earlier runs
    were recorded, too: what lives of them was left alive on purpose. Later ones are those of a newer copy of
    the state. What has ended costs nothing and stays: its record may be kept on purpose.
    `among`: the records to look at; None asks for all that live. `keep`: names that this deployment knows of.
    Raises what `deletion.delete_run` raises.
    """
    for record in kind.list_live_labelled(endpoint, RUN_LABEL) if among is None else among:
        if record.name in keep or not _is_left(record, key, recorded):
            continue
        job = resource_id(record.name)
        tell(f"{kind.noun} {job} was left behind by an interrupted deployment")
        delete_run(
            kind,
            endpoint,
            record.name,
            label=job,
            tell=tell,
            before_delete=before_delete,
            on_delete=on_delete,
            protect_running=protect_running,
        )


def _is_left(record: Any, key: RunKey, recorded: int) -> bool:
    if record.state.is_terminal:
        return False
    try:
        carried = parse(record.labels.get(RUN_LABEL, ""))
    except ValueError:
        return False
    return carried.identity == key.identity and recorded < carried.generation <= key.generation
