"""A random history of one declaration, determined by a seed alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from soak.jobs.model import Command, Declared, Spec

Act = Literal["cancel", "delete"]
UP = Command()
_POLICIES = {"on_change": 5, "on_failure": 3, "always": 2, "never": 2}
_COMMANDS = {
    Command(): 65,
    Command(replace=True): 10,
    Command(refresh=True): 7,
    Command(refresh=True, replace=True): 3,
    Command(verb="refresh"): 9,
    Command(verb="destroy"): 6,
}
_EDITS = {
    "none": 40,
    "spec": 24,
    "earlier spec": 10,
    "run_token": 10,
    "rerun": 10,
    "rerun_limit": 3,
    "protect_running": 6,
    "on_delete": 6,
    "remove": 7,
    "cancel": 8,
    "delete": 12,
}
_METHODS = {
    "JobService.CreateCustomJob": 5,
    "JobService.GetCustomJob": 2,
    "JobService.ListCustomJobs": 3,
    "JobService.CancelCustomJob": 2,
    "JobService.DeleteCustomJob": 2,
    "Operations.*": 1,
    "*": 2,
}
_FAULTS: Mapping[str, Any] = {"429": 2, "500": 2, "503": 2, "before": 2, "after": 4}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a history.

    `behind`: what happens to the job outside Pulumi, before the command. `dies_at`: the point at which the
    command is killed (`support.client.in_process.small_engine`). `fault`: one of the emulator.
    """

    declared: Declared | None
    command: Command = UP
    behind: Act | None = None
    dies_at: int | None = None
    fault: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        command, was = self.command, f"{self.behind} outside Pulumi; " if self.behind else ""
        options = [f" --{name}" for name in ("refresh", "replace") if getattr(command, name)]
        wrong = f"; killed at point {self.dies_at}" if self.dies_at is not None else ""
        wrong += f"; fault {dict(self.fault)}" if self.fault else ""
        return f"{was}{command.verb}{''.join(options)} of {self.declared}{wrong}"


def make(seed: int, *, steps: int = 10) -> tuple[Step, ...]:
    """Return `steps` random steps, then an undisturbed deployment and a destroy."""
    chance = random.Random(seed)
    past: list[Spec] = []
    declared: Declared | None = _first(chance, past)
    history = [Step(declared=declared, **_disturbance(chance))]
    for _ in range(steps - 1):
        edit = _one(chance, _EDITS)
        behind: Act | None = edit if edit in ("cancel", "delete") else None
        if declared is None:
            declared = _first(chance, past)
        elif edit == "remove":
            declared = None
        else:
            declared = replace(declared, **_edited(chance, declared, edit, past))
        command = _one(chance, _COMMANDS)
        history.append(Step(declared=declared, command=command, behind=behind, **_disturbance(chance)))
    last = replace(declared or _first(chance, past), protect_running=False)
    return (*history, Step(declared=last), Step(declared=last, command=Command(verb="destroy")))


def _first(chance: random.Random, past: list[Spec]) -> Declared:
    return Declared(
        spec=_new_spec(chance, past),
        rerun=_one(chance, _POLICIES),
        rerun_limit=chance.randrange(3),
        protect_running=chance.random() < 0.15,
        on_delete=_one(chance, {"delete": 3, "cancel": 1}),
    )


def _new_spec(chance: random.Random, past: list[Spec]) -> Spec:
    past.append(Spec(program=chance.choice(("succeeds", "fails", "runs")), salt=len(past) + 1))
    return past[-1]


def _edited(chance: random.Random, now: Declared, edit: str, past: list[Spec]) -> dict[str, Any]:
    """Return the fields that an edit changes."""
    match edit:
        case "spec":
            return {"spec": _new_spec(chance, past)}
        case "earlier spec":
            return {"spec": chance.choice(past)}
        case "run_token":
            return {"run_token": chance.choice((None, "a", "b", "c"))}
        case "rerun":
            return {"rerun": chance.choice(list(_POLICIES))}
        case "rerun_limit":
            return {"rerun_limit": chance.randrange(3)}
        case "protect_running":
            return {"protect_running": not now.protect_running}
        case "on_delete":
            return {"on_delete": "cancel" if now.on_delete == "delete" else "delete"}
    return {}


def _disturbance(chance: random.Random) -> dict[str, Any]:
    """Return what goes wrong during a command: nothing, a kill or a fault."""
    way = chance.random()
    if way > 0.5:
        return {}
    if way < 0.3:
        return {"dies_at": chance.randrange(12)}
    what = _one(chance, _FAULTS)
    does = {"drop": what} if what in ("before", "after") else {"status": int(what)}
    times = chance.choice((1, 1, 2))
    return {
        "fault": {"method": _one(chance, _METHODS), "nth": chance.randrange(1, 5), "times": times, **does}
    }


def _one(chance: random.Random, weights: Mapping[Any, int]) -> Any:
    return chance.choices(list(weights), list(weights.values()))[0]
