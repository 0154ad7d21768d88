"""The context of one resource in an engine operation: what its calls learn for each other.

The engine calls check, diff, delete and create of a resource one after the other, and gives each of them only
a part: the check of a replacement gets no old inputs, a create no recorded run. Dynamic providers are pickled
into the state by reference and have no state of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.identity import RunKey
from pulumi_vertex_training.runs.policies.run_status import Change


@dataclass(frozen=True, kw_only=True)
class DecidedRun:
    """A run that this operation decided on: its code, and what to record with it.

    `reruns` counts reruns on failure, `climbs` runs for lack of capacity. `tried` are the keys of the rungs
    that its pass over a capacity ladder has left already.
    """

    why: str
    reruns: int = 0
    climbs: int = 0
    tried: tuple[str, ...] = ()


@dataclass(kw_only=True, eq=False)
class ResourceContext:
    """The facts about one resource. Hosts fill in the first three when they call `check`."""

    given: Mapping[str, Any] = field(default_factory=dict)
    """The inputs that the program declares, and what it hands to a check beside them."""

    recorded: Mapping[str, Any] = field(default_factory=dict)
    """The inputs that the state has, {} for a new resource."""

    checked: Mapping[str, Any] | None = None
    """The inputs as a check returned them, None without one: a refresh calls diff without check, and may
    neither plan a run nor print one."""

    is_replaced: bool = False
    """True if `create` was called for a resource that the state has, as `replace_on_changes` can demand
    although `diff` found no need."""

    label_of_replaced: str | None = None
    """The label that identifies a version which is replaced. Written by `diff`; read by the `create` of the
    version that replaces it."""

    change: Change = Change.NOTHING
    """The change of a job's declaration. Written by `check`, which may keep the recorded inputs."""

    is_compared: bool = False
    """True if a `diff` of a job followed its check. Read by `delete`, to recognise `pulumi up --replace`,
    which compares nothing."""

    has_unknown: bool = False
    """True if a job was compared with unknown values. Read by `delete`: in a deployment the engine does so
    for what depends on something that is about to be replaced, and deletes it before the program declares it
    again."""

    recorded_run: RunKey | None = None
    """The newest run of a job that the state has, as far as this operation saw."""

    recorded_checkpoints: str | None = None
    """The folder of that run's checkpoints."""

    places: frozenset[str] = frozenset()
    """Other locations in which the state says that a job may be. Written by `diff` and `delete`."""

    decided: DecidedRun | None = None
    """A run that was decided on. Written by `diff` and `delete`; read by `create`."""

    spent: float | None = None
    """The cost of the runs of a job with `max_cost` until the end of the recorded one, in US dollars, by the
    state. Written by `diff` and `delete`; read by `create`."""

    def note_recorded_run(self, key: object, checkpoints: str | None = None) -> None:
        """Record that the state has a job of this run, with a folder of checkpoints.

        Ignore values that are no key of a run.
        """
        try:
            run = identity.parse(str(key))
        except ValueError:
            return
        known = self.recorded_run
        if known is None or known.identity != run.identity or known.generation < run.generation:
            self.recorded_run, self.recorded_checkpoints = run, checkpoints
