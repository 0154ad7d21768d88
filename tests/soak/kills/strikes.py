"""Kills, planned from a seed: who is killed, and at which point of the command. Pure."""

from __future__ import annotations

import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass

from soak.kills.desired import NAMED, Change, Desired


class Victim(enum.Enum):
    """The processes that get SIGKILL, or the disk, which is full for a while."""

    PULUMI = "pulumi"
    PROVIDER = "provider"
    COMMAND = "command"
    """`pulumi` with its program and its provider."""
    MACHINE = "machine"
    """All processes of the lane."""
    EMULATOR = "emulator"
    SUPERVISOR = "supervisor"
    REPLICA = "replica"
    DISK = "disk"


_WEIGHTS = {
    Victim.PULUMI: 5,
    Victim.PROVIDER: 4,
    Victim.COMMAND: 4,
    Victim.MACHINE: 3,
    Victim.EMULATOR: 5,
    Victim.SUPERVISOR: 2,
    Victim.REPLICA: 2,
    Victim.DISK: 3,
}
_RENAMED_AGAIN = 0.25
"""Share of the kills after which a resource that the deployment was creating is renamed."""

_VERBS = {"up": 88, "down": 7, "refresh": 5}


@dataclass(frozen=True, kw_only=True)
class Strike:
    """A kill of `victim` during the command `verb`.

    The point is one of three. With `method`: its `nth` call, before the emulator carries it out, or after,
    when nobody has the answer yet. With `seconds`: so long after the engine began with the first resource.
    Else a `share` of the command's usual length. `fills` is the time for which a disk is full. `again`: the
    user edits the program before the next `up`; the resource of the slot `renamed` then has another name.
    """

    verb: str
    victim: Victim
    share: float
    seconds: float | None = None
    method: str = ""
    nth: int = 1
    carried_out: bool = True
    fills: float = 0.0
    again: bool = False
    renamed: str = ""

    def __str__(self) -> str:
        place = f"{self.victim.value} in {self.verb}"
        if self.method:
            return f"{place} {'after' if self.carried_out else 'before'} call {self.nth} of {self.method}"
        if self.seconds is not None:
            return f"{place} {self.seconds:.2f} s after the first resource"
        return f"{place} at {self.share:.2f}"

    def fault(self, *, seconds: float) -> dict[str, object]:
        """Return the emulator's fault that holds the call."""
        pause = "delay" if self.carried_out else "stall"
        return {"method": self.method, "nth": self.nth, pause: seconds}


def drawn(chance: random.Random, desired: Desired, changes: Sequence[Change], *, has_disk: bool) -> Strike:
    """Return a random kill; without a disk of its own, a lane has none that is full."""
    weights = {each: weight for each, weight in _WEIGHTS.items() if has_disk or each is not Victim.DISK}
    victim = chance.choices(list(weights), list(weights.values()))[0]
    verb = chance.choices(list(_VERBS), list(_VERBS.values()))[0]
    methods = [(method, 1) for change in changes for method in change.calls()]
    if verb == "down":
        removals = [Change(slot=slot, what="removed") for slot in desired.slots]
        methods = [(method, 1) for change in removals for method in change.calls()]
    elif verb == "refresh":
        methods = []
    methods = [*methods, ("*", chance.randrange(1, 5))]
    method, nth = chance.choice(methods)
    way = chance.choices(("call", "resource", "share"), (50, 35, 15))[0]
    named = [one.slot for one in changes if one.what in ("added", "replaced") and one.slot in NAMED]
    renamed = chance.choice(named) if named and chance.random() < _RENAMED_AGAIN else ""
    seconds = round(1.6 * chance.random() ** 1.5, 3)
    return Strike(
        verb=verb,
        victim=victim,
        share=round(chance.random(), 3),
        seconds=seconds if way == "resource" else None,
        method=method if way == "call" else "",
        nth=nth,
        carried_out=chance.random() < 0.7,
        fills=chance.choice((0.5, 2.0, 8.0)),
        again=bool(renamed) or chance.random() < 0.15,
        renamed=renamed,
    )
