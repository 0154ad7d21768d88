"""Stacks of the soak, one after the other, up to a number or a time; and the disagreements found."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soak import plan as planning
from soak.limits import DEFECTS
from soak.plan import Plan
from soak.stack import Disagreement, Stack, Tally

SLOTS = 10
STEPS = 8
_OUTPUT_CHARACTERS = 6000


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a plan to run: these declarations, and these steps (None: all)."""

    slots: tuple[str, ...]
    steps: frozenset[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A disagreement of a stack, and the smallest part of its plan that still shows one."""

    plan: Plan
    disagreement: Disagreement
    part: Part
    tried: int = 0

    def report(self) -> str:
        part = self.part
        steps = sorted(part.steps) if part.steps is not None else range(self.disagreement.step + 1)
        only = f"--slots {','.join(part.slots)} --steps {','.join(map(str, steps))}"
        lines = [
            f"seed {self.plan.seed}, step {self.disagreement.step}:",
            *(f"  {complaint}" for complaint in self.disagreement.complaints),
            f"the shortest history that shows it, after {self.tried} attempts to shorten it:",
            *(f"  {number}. {_line(self.plan, number, part.slots)}" for number in steps),
            "the output of the last command:",
            self.disagreement.output[-_OUTPUT_CHARACTERS:],
            f"to run it again: make soak ARGS='jobs --seed {self.plan.seed} --stacks 1 {only}'",
        ]
        return "\n".join(lines)


@dataclass
class Summary:
    """The totals of all stacks, and the failures."""

    seeds: list[int] = field(default_factory=list)
    sequences: int = 0
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    failures: list[Failure] = field(default_factory=list)

    def line(self) -> str:
        tally = self.tally
        return (
            f"{self.sequences} sequences in {len(self.seeds)} stacks, seeds {self.seeds[0]} to "
            f"{self.seeds[-1]}: {tally.steps} commands, {tally.submissions} jobs, {tally.refusals} refusals, "
            f"{tally.kills} kills, {tally.faults} faults, {len(self.failures)} disagreements, "
            f"{self.seconds:.0f} s"
        )


def soak(
    *,
    seed: int,
    stacks: int,
    print_line: Callable[[str], None],
    seconds: float | None = None,
    least: int = 2,
    part: Part | None = None,
    slots: int = SLOTS,
    steps: int = STEPS,
    shorten_seconds: float = 180.0,
    defects: frozenset[str] = frozenset(DEFECTS),
) -> Summary:
    """Run the stacks of `seed`, `seed + 1` and so on.

    Run at least `least`; then begin none that would not end within `seconds`, judging by the longest so far.
    After a disagreement, spend up to `shorten_seconds` to shorten it, and continue.
    """
    summary, began = Summary(), time.monotonic()
    longest = 0.0
    for number in range(stacks):
        spent = time.monotonic() - began
        if seconds is not None and number >= least and spent + longest > seconds:
            break
        plan = planning.make(seed + number, slots=slots, steps=steps)
        disagreement, tally, took = run(plan, part, defects)
        longest = max(longest, took)
        summary.seeds.append(plan.seed)
        summary.sequences += len(part.slots if part else plan.slots)
        summary.tally.add(tally)
        found = "disagreement" if disagreement else "as forecast"
        print_line(
            f"seed {plan.seed}: {found}; {tally.steps} commands, {tally.submissions} jobs, {took:.0f} s"
        )
        if disagreement is not None:
            failure = shortened(plan, disagreement, part, seconds=shorten_seconds, defects=defects)
            summary.failures.append(failure)
            print_line(failure.report())
    summary.seconds = time.monotonic() - began
    return summary


def run(
    plan: Plan, part: Part | None, defects: frozenset[str] = frozenset(DEFECTS)
) -> tuple[Disagreement | None, Tally, float]:
    """Run one stack, in a temporary folder of its own."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        stack = Stack(
            folder=Path(folder) / "project", slots=part.slots if part else plan.slots, defects=defects
        )
        try:
            stack.run(plan, part.steps if part else None)
        except Disagreement as disagreement:
            return disagreement, stack.tally, time.monotonic() - began
        finally:
            stack.close()
    return None, stack.tally, time.monotonic() - began


def shortened(
    plan: Plan, first: Disagreement, part: Part | None, *, seconds: float, defects: frozenset[str]
) -> Failure:
    """Return the disagreement with fewer declarations and steps, as far as it recurs within the time.

    A disagreement that depends on the moment of a kill may not recur; then it stays as it was.
    """
    until, tried = time.monotonic() + seconds, 0
    steps = sorted(part.steps) if part and part.steps is not None else list(range(len(plan.steps)))
    steps = [number for number in steps if number <= first.step] if first.step >= 0 else steps
    best = Part(slots=part.slots if part else plan.slots, steps=frozenset(steps))
    found = first
    for smaller in _smaller(best, first):
        if time.monotonic() > until:
            break
        tried += 1
        again, _, _ = run(plan, smaller, defects)
        if again is not None:
            best, found = smaller, again
            break
    for number in _middle(best):
        if time.monotonic() > until:
            break
        tried += 1
        fewer = Part(slots=best.slots, steps=(best.steps or frozenset()) - {number})
        again, _, _ = run(plan, fewer, defects)
        if again is not None:
            best, found = fewer, again
    return Failure(plan=plan, disagreement=found, part=best, tried=tried)


def _smaller(part: Part, disagreement: Disagreement) -> Sequence[Part]:
    """Return the part with only the named declarations, if there are others."""
    named = [slot for slot in part.slots if any(slot in one for one in disagreement.complaints)]
    return [Part(slots=tuple(named), steps=part.steps)] if named and len(named) < len(part.slots) else []


def _middle(part: Part) -> list[int]:
    """Return all steps except the last, from the one before it backwards."""
    return sorted(part.steps or ())[-2::-1]


def _line(plan: Plan, number: int, slots: tuple[str, ...]) -> str:
    step = plan.steps[number]
    edits = [edit for edit in step.edits if edit.partition(" ")[0] in slots or number == 0]
    return planning.Step(
        declared=step.declared,
        command=step.command,
        behind=step.behind,
        disturbance=step.disturbance,
        edits=tuple(edits),
    ).line()


def any_seed() -> int:
    return random.SystemRandom().randrange(1, 1_000_000)
