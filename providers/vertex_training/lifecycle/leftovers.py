"""Jobs of a declaration that its state does not know: what a killed deployment submitted and nobody recorded.

The next deployment of the same run adopts such a job (`submission`). Where the declaration was changed or
taken out before, no run is left to adopt it, and it would go on unseen: it is found by the part of the key
that all runs of a declaration share, and nobody else has.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from vertex_training.cloud.endpoint import Endpoint
from vertex_training.lifecycle.identity import RUN_LABEL, identity_of
from vertex_training.lifecycle.kinds import Kind
from vertex_training.lifecycle.removal import remove
from vertex_training.lifecycle.removal_plan import OnDelete


def remove_leftovers(
    kind: Kind,
    endpoint: Endpoint,
    key: str,
    *,
    tell: Callable[[str], None],
    on_delete: OnDelete = OnDelete.DELETE,
    keep: Container[str] = frozenset(),
    live_only: bool = True,
) -> None:
    """Cancel the jobs of the declaration that `key` is a run of, but for the names in `keep`, and remove them
    as `on_delete` says. Those that have ended stay, unless `live_only` is False.

    Raises what `removal.remove` raises.
    """
    for record in _of_declaration(kind, endpoint, key, live_only=live_only):
        if record.name in keep:
            continue
        job = record.name.rpartition("/")[2]
        tell(f"{kind.noun} {job} was left behind by an interrupted deployment; it is removed")
        remove(kind, endpoint, record.name, label=job, tell=tell, on_delete=on_delete)


def _of_declaration(kind: Kind, endpoint: Endpoint, key: str, *, live_only: bool) -> list[Any]:
    found = kind.live(endpoint, RUN_LABEL) if live_only else kind.labelled(endpoint, RUN_LABEL)
    return [one for one in found if identity_of(one.labels[RUN_LABEL]) == identity_of(key)]
