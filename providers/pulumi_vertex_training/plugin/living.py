"""Of two entries of a state that have one id, the one that lives on: what a killed deployment can leave.

It had taken over what was there for a resource, and was killed before the entry that it came from was gone.
The next deployment deletes that entry, and may not delete what is the other's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.plugin.process import PLUGIN


def note(id_: str, memory: str, recorded: Mapping[str, Any]) -> None:
    """That a deployment leaves the resource `memory` as it is, or changes it in place; `recorded` is what the
    state has of it."""
    PLUGIN.remember(f"lives {id_}", (memory, dict(recorded)))


def note_replaced(memory: str) -> None:
    """That it is replaced all the same, as `replace_on_changes` can demand."""
    PLUGIN.remember(f"replaced {memory}", True)


def is_anothers(id_: str, recorded: Mapping[str, Any] | None = None) -> bool:
    """Whether what an entry of the state is about belongs to another entry.

    `recorded`: what this entry has; without it the two may have the same. That is for a kind which is made
    before the old one is deleted: one that is deleted first may have one entry only.
    """
    found: tuple[str, dict[str, Any]] | None = PLUGIN.recall(f"lives {id_}")
    if found is None or PLUGIN.recall(f"replaced {found[0]}"):
        return False
    return recorded is None or found[1] != dict(recorded)
