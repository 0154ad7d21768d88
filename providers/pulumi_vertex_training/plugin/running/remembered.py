"""What one engine operation has learnt of a job, for another call of the same operation.

By the run's identity, not by name: two resources may have one name, and a renamed one goes by its old name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.plugin.process import PLUGIN
from pulumi_vertex_training.plugin.running.declaration import RECORD
from pulumi_vertex_training.runs import identity


def note_declared(checked: Mapping[str, Any]) -> None:
    """The record of a job as it is declared now; not while its run is unknown."""
    if isinstance(checked["run"], str):
        PLUGIN.remember(_declared(checked["run"]), {name: checked[name] for name in (*RECORD, "run")})


def declared(run: object) -> dict[str, Any] | None:
    """The record of the declaration that `run` is a run of, None where it was not checked."""
    found: dict[str, Any] | None = PLUGIN.recall(_declared(str(run)))
    return found


def note_recorded(run: object) -> None:
    """That the state has a job of this run."""
    try:
        key = identity.parse(str(run))
    except ValueError:
        return
    PLUGIN.remember(_recorded(key.identity), max(key.generation, PLUGIN.recall(_recorded(key.identity)) or 0))


def recorded_generation(run: str) -> int:
    """The last run of the declaration whose job the state has, as far as this operation saw; else 0."""
    return int(PLUGIN.recall(_recorded(identity.identity_of(run))) or 0)


def note_goes_first(id_: str) -> None:
    """That the engine compared a job with values that are not known yet: in a deployment it does so for what
    depends on something that is about to be replaced, and deletes it before the program declares it again."""
    PLUGIN.remember(_goes_first(id_), True)


def goes_first(id_: str) -> bool:
    return PLUGIN.recall(_goes_first(id_)) is not None


def _goes_first(id_: str) -> str:
    return f"goes first {id_}"


def _declared(run: str) -> str:
    return f"declared {identity.identity_of(run)}"


def _recorded(run_identity: str) -> str:
    return f"recorded {run_identity}"
