"""A random history of a stack, determined by a seed alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from soak.disturbance import Disturbance, drawn
from soak.model import Command, Declared, Spec

Act = Literal["cancel", "delete"]
PROGRAMS = ("succeeds", "fails", "runs")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a history.

    `declared`: the program's declarations by their slot. `behind`: what happens to their jobs outside Pulumi.
    `disturbance`: what goes wrong during the command. `edits`: words for the report.
    """

    declared: Mapping[str, Declared]
    command: Command
    behind: Mapping[str, Act] = field(default_factory=dict)
    disturbance: Disturbance | None = None
    edits: tuple[str, ...] = ()

    def line(self) -> str:
        options = ["--refresh"] if self.command.refresh else []
        options += [f"--replace {slot}" for slot in sorted(self.command.replace)]
        options += [f"--target {slot}" for slot in sorted(self.command.target or ())]
        wrong = f"; {self.disturbance}" if self.disturbance else ""
        return f"{'; '.join(self.edits) or 'no edit'}; {' '.join([self.command.verb, *options])}{wrong}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All steps of one stack; `slots` are its declarations, each with a history of its own."""

    seed: int
    slots: tuple[str, ...]
    steps: tuple[Step, ...]


class _Slot:
    """One declaration during planning."""

    def __init__(self, name: str, random_: random.Random) -> None:
        self.slot, self.random = name, random_
        self.names, self.salt = (name,), 0
        self.past: list[Spec] = []
        self.declared: Declared | None = None
        self.before: Declared | None = None
        self.add()

    def add(self) -> str:
        chance = self.random
        if self.past and chance.random() < 0.4:
            self.names = (f"{self.slot}-{len(self.names)}", *self.names)
        self.declared = Declared(
            names=self.names,
            spec=self.new_spec(),
            rerun=chance.choices(("on_change", "on_failure", "always", "never"), (5, 3, 2, 2))[0],
            rerun_limit=chance.randrange(3),
            protect_running=chance.random() < 0.15,
            on_delete=chance.choices(("delete", "cancel"), (3, 1))[0],
        )
        self.set(wait=self.waits())
        return "added"

    def new_spec(self) -> Spec:
        self.salt += 1
        spec = Spec(program=self.random.choice(PROGRAMS), salt=self.salt)
        self.past.append(spec)
        return spec

    def waits(self) -> Literal["none", "running", "done"]:
        assert self.declared is not None
        if self.declared.spec.program != "succeeds":
            return "none"
        return self.random.choices(("none", "running", "done"), (4, 1, 1))[0]

    def set(self, **fields: object) -> None:
        assert self.declared is not None
        self.declared = replace(self.declared, **fields)  # type: ignore[arg-type]

    def resolve(self) -> tuple[str, Act | None] | None:
        """Return an edit that lets the last step succeed if it may have been refused, else None."""
        was, now = self.before, self.declared
        if was is None or not was.protect_running or was.spec.program != "runs":
            return None
        if now is None:
            return "cancelled outside Pulumi, so that it can be removed", "cancel"
        if now.protect_running and (now.spec, now.run_token) != (was.spec, was.run_token):
            way = self.random.randrange(3)
            if way == 0:
                self.set(protect_running=False)
                return "protection off", None
            if way == 1:
                self.set(spec=was.spec, run_token=was.run_token, wait="none")
                return "edit reverted", None
            return "cancelled outside Pulumi, so that it can be replaced", "cancel"
        return None

    def edit(self) -> tuple[str, Act | None]:
        """Make one random edit. Return it in words, and what happens to the job outside Pulumi."""
        if self.declared is None:
            return self.add(), None
        kind = self.random.choices(*zip(*_EDITS.items(), strict=True))[0]
        now = self.declared
        match kind:
            case "spec":
                self.set(spec=self.new_spec())
            case "earlier spec":
                self.set(spec=self.random.choice(self.past))
            case "run_token":
                self.set(run_token=self.random.choice((None, "a", "b", "c")))
            case "rerun":
                self.set(rerun=self.random.choice(("on_change", "on_failure", "always", "never")))
            case "rerun_limit":
                self.set(rerun_limit=self.random.randrange(3))
            case "protect_running":
                self.set(protect_running=not now.protect_running)
            case "on_delete":
                self.set(on_delete="cancel" if now.on_delete == "delete" else "delete")
            case "rename":
                self.names = (f"{self.slot}-{len(self.names)}", *self.names)
                self.set(names=self.names)
            case "remove":
                self.declared = None
                return "removed", None
            case "cancel" | "delete":
                return f"{kind} outside Pulumi", "cancel" if kind == "cancel" else "delete"
        self.set(wait=self.waits())
        return f"{kind}: {_shown(now, self.declared)}", None


_EDITS = {
    "spec": 24,
    "earlier spec": 10,
    "run_token": 10,
    "rerun": 10,
    "rerun_limit": 3,
    "protect_running": 6,
    "on_delete": 6,
    "rename": 8,
    "remove": 7,
    "cancel": 8,
    "delete": 12,
}


def make(seed: int, *, slots: int = 10, steps: int = 8) -> Plan:
    """Return the history of one stack: `steps` random steps, then an undisturbed deployment and a destroy."""
    names = tuple(f"d{number}" for number in range(slots))
    made = {name: _Slot(name, random.Random(f"{seed} {name}")) for name in names}
    chance = random.Random(f"{seed} commands")
    history = [_step(chance, made, {}, ["all added"], first=True)]
    for _ in range(steps - 1):
        edits, behind = [], {}
        for name, slot in made.items():
            found, before = slot.resolve(), slot.declared
            if found is None and slot.random.random() < 0.45:
                found = slot.edit()
            slot.before = before
            if found is not None:
                words, act = found
                edits.append(f"{name} {words}")
                if act:
                    behind[name] = act
        history.append(_step(chance, made, behind, edits))
    for slot in made.values():
        if slot.declared:
            slot.set(protect_running=False)
    declared = _declared(made)
    last = [Command(verb="up"), Command(verb="destroy")]
    history += [Step(declared=declared, command=command, edits=("protection off",)) for command in last]
    return Plan(seed=seed, slots=names, steps=tuple(history))


def _step(
    chance: random.Random,
    slots: Mapping[str, _Slot],
    behind: Mapping[str, Act],
    edits: list[str],
    *,
    first: bool = False,
) -> Step:
    some = frozenset(chance.sample(sorted(slots), min(3, len(slots))))
    commands = {
        Command(verb="up"): 62,
        Command(verb="up", replace=some): 9,
        Command(verb="up", refresh=True): 6,
        Command(verb="up", refresh=True, replace=some): 2,
        Command(verb="up", target=some): 5,
        Command(verb="refresh"): 7,
        Command(verb="preview"): 5,
        Command(verb="destroy"): 4,
    }
    command = chance.choices(list(commands), list(commands.values()))[0]
    disturbance = drawn(chance)
    if first:
        command = Command(verb="up")
    if command.verb == "preview" or chance.random() > 0.35:
        disturbance = None
    return Step(
        declared=_declared(slots),
        command=command,
        behind=behind,
        disturbance=disturbance,
        edits=tuple(edits),
    )


def _declared(slots: Mapping[str, _Slot]) -> dict[str, Declared]:
    return {name: slot.declared for name, slot in slots.items() if slot.declared is not None}


def _shown(old: Declared, new: Declared) -> str:
    changed = [name for name in Declared.__dataclass_fields__ if getattr(old, name) != getattr(new, name)]
    return (
        ", ".join(f"{name} {getattr(old, name)} -> {getattr(new, name)}" for name in changed) or "unchanged"
    )
