"""Jobs of a declaration that its state does not know: what a killed deployment submitted and nobody recorded.

The next deployment of the same run adopts such a job (`submission`). Where the declaration was changed or
taken out before, or the job failed and is due again, no run is left to adopt it, and it would go on unseen:
it is found by the part of the key that all runs of a declaration share, and nobody else has.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

from vertex_training.cloud.endpoint import Endpoint
from vertex_training.lifecycle.identity import RUN_LABEL, RunKey, identity_of
from vertex_training.lifecycle.kinds import Kind
from vertex_training.lifecycle.removal import remove
from vertex_training.lifecycle.removal_plan import OnDelete


def candidates(kind: Kind, endpoint: Endpoint, key: RunKey) -> list[Any]:
    """What may be left of the declaration: live jobs of any of its runs, and all of this run and the last."""
    found = [*kind.live(endpoint, RUN_LABEL), *kind.find(endpoint, {RUN_LABEL: str(key)})]
    if key.generation > 1:
        found += kind.find(endpoint, {RUN_LABEL: str(key.previous())})
    return list({record.name: record for record in found}.values())


def remove_leftovers(
    kind: Kind,
    endpoint: Endpoint,
    key: RunKey,
    *,
    among: Iterable[Any],
    tell: Callable[[str], None],
    on_delete: OnDelete = OnDelete.DELETE,
    keep: Container[str] = frozenset(),
) -> None:
    """Remove what is left of the declaration that `key` is a run of, as `on_delete` says.

    `among`: the records to look at, as `candidates` gives them. `keep`: names that this deployment knows of.
    A job that has ended before the last run stays: its record may have been kept on purpose. Raises what
    `removal.remove` raises.
    """
    for record in among:
        if record.name in keep or not _is_left(record, key, on_delete):
            continue
        job = record.name.rpartition("/")[2]
        tell(f"{kind.noun} {job} was left behind by an interrupted deployment; it is removed")
        remove(kind, endpoint, record.name, label=job, tell=tell, on_delete=on_delete)


def _is_left(record: Any, key: RunKey, on_delete: OnDelete) -> bool:
    carried = record.labels.get(RUN_LABEL, "")
    if identity_of(carried) != key.identity:
        return False
    if not record.state.is_terminal:
        return True
    return on_delete is OnDelete.DELETE and carried in (str(key), str(key.previous()))
