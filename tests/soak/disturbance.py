"""Disturbances of a command: a process is killed at a random time, or calls of the service fail."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Victim = Literal["pulumi", "provider", "emulator", "everything", "interrupt"]


@dataclass(frozen=True, kw_only=True)
class Kill:
    """A SIGKILL of `victim`, `delay` seconds after so many lines of output.

    `interrupt` is SIGINT for `pulumi`; `everything` is `pulumi` with its plugin and its program.
    """

    victim: Victim
    after_lines: int
    delay: float

    def __str__(self) -> str:
        return f"{self.victim} killed {self.delay:.2f} s after line {self.after_lines}"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of the emulator, in the JSON of docs/guides/emulator/faults.md."""

    body: Mapping[str, Any]

    def __str__(self) -> str:
        return "fault " + ", ".join(f"{name} {value}" for name, value in self.body.items())


Disturbance = Kill | Fault

_VICTIMS: Mapping[Victim, int] = {"pulumi": 5, "everything": 3, "provider": 3, "emulator": 3, "interrupt": 1}
_METHODS = {
    "JobService.CreateCustomJob": 5,
    "JobService.GetCustomJob": 2,
    "JobService.ListCustomJobs": 3,
    "JobService.CancelCustomJob": 2,
    "JobService.DeleteCustomJob": 2,
    "Operations.*": 1,
    "*": 2,
}
_WHAT: Mapping[str, int] = {"429": 2, "500": 2, "503": 2, "before": 2, "after": 4, "stall": 2}


def drawn(chance: random.Random) -> Disturbance:
    """Return a random disturbance; about half are kills."""
    if chance.random() < 0.55:
        # The engine prints some lines at its start, and then about four for each declaration.
        after, delay = chance.randrange(0, 50), chance.choice((0.0, 0.02, 0.1, 0.4))
        return Kill(victim=_one(chance, _VICTIMS), after_lines=after, delay=delay * chance.random())
    what = _one(chance, _WHAT)
    method: dict[str, Any] = {"method": _one(chance, _METHODS), "nth": chance.randrange(1, 5)}
    if what in ("before", "after"):
        body = {"drop": what}
    elif what == "stall":
        body = {"stall": 1.0}
    else:
        body = {"status": int(what)}
    return Fault(body={**method, **body, "times": chance.choice((1, 1, 2, 3, 8))})


def _one(chance: random.Random, weights: Mapping[Any, int]) -> Any:
    return chance.choices(list(weights), list(weights.values()))[0]
