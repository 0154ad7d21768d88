"""One history: a lane from its first deployment to its last, with a kill in each step."""

from __future__ import annotations

import contextlib
import random
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from soak.kills import checks, desired, service, strikes
from soak.kills.desired import Change, Desired
from soak.kills.lane import Command, Hung, Lane, is_module, kill, words
from soak.kills.strikes import Strike, Victim
from vertex_emulator.client.control import Control, ControlError

STEPS = 25
_AGREE_SECONDS = 30.0
_HELD_SECONDS = 600.0
_USUAL_SECONDS = 5.0
_DIES_SECONDS = 10.0
_BEGUN = re.compile(r"pulumi-python:dynamic")
_OUTPUT_CHARACTERS = 4000


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A step: who was killed, what the engine was doing, and what was wrong after the next `up`.

    `struck`: the command had not ended before the kill. `unlocked`: `make up` asked for `make unlock` first.
    """

    history: int
    step: int
    strike: Strike
    struck: bool
    in_flight: tuple[str, ...]
    changes: tuple[str, ...]
    unlocked: bool
    seconds: float
    findings: tuple[str, ...] = ()
    output: str = ""


@dataclass
class History:
    """The steps follow from `seed` and `number` alone, apart from what happens by chance at the same time."""

    seed: int
    number: int
    folder: Path
    report: Callable[[Outcome], bool]
    """Gets each step; returns whether there is time for another."""
    lane: Lane = field(init=False)
    _lengths: list[float] = field(default_factory=list)

    def run(self) -> list[str]:
        """Run all steps, or those before a finding. Return what was wrong at the end."""
        chance = random.Random(f"{self.seed} {self.number}")
        self.lane = Lane(folder=self.folder)
        sound, now = True, desired.first(chance)
        changes = tuple(Change(slot=slot, what="added") for slot in now.slots)
        try:
            for step in range(STEPS):
                strike = strikes.drawn(chance, now, changes, has_disk=self.lane.disk.is_mounted)
                later, more = now, ()
                if strike.again:
                    later, more = desired.changed(now, chance, renamed=strike.renamed)
                outcome = self._step(step, strike, now, later, (*changes, *more))
                sound = not outcome.findings
                if not self.report(outcome) or not sound:
                    break
                now, changes = desired.changed(later, chance)
            return self._end() if sound else []
        finally:
            left = self.lane.close()
        return [f"left running: {line}" for line in left]

    def _step(
        self, step: int, strike: Strike, now: Desired, later: Desired, changes: tuple[Change, ...]
    ) -> Outcome:
        began = time.monotonic()
        struck, unlocked = False, False
        in_flight: tuple[str, ...] = ()
        findings: list[str] = []
        output = ""
        try:
            self.lane.write(now)
            command, struck, in_flight = self._struck(strike)
            output = command.output
            if strike.verb == "down":
                self.lane.forgive()
            if not struck and command.code:
                findings.append("the command failed before anything was killed")
            self.lane.write(later)
            if not findings and (struck or strike.verb != "up" or later != now):
                command, unlocked = self._up()
                output = command.output
                if command.code:
                    healed = "the next one succeeds" if not self._up()[0].code else "so does the next one"
                    findings.append(f"up fails, {healed}: {_reason(output)}")
            if not findings:
                findings += self._compare(later)
        except Hung as hung:
            output = str(hung)
            findings.append("the command did not end")
        return Outcome(
            history=self.number,
            step=step,
            strike=strike,
            struck=struck,
            in_flight=in_flight,
            changes=tuple(map(str, changes)),
            unlocked=unlocked,
            seconds=round(time.monotonic() - began, 2),
            findings=tuple(findings),
            output=output[-_OUTPUT_CHARACTERS:] if findings else "",
        )

    def _up(self) -> tuple[Command, bool]:
        """Type `make up`, and `make unlock` before it where it asks for that."""
        command = self.lane.run("up")
        unlocked = bool(command.code) and "make unlock" in command.output
        if unlocked:
            self.lane.run("unlock")
            command = self.lane.run("up")
        if not command.code:
            self._lengths = [*self._lengths[-8:], time.monotonic() - command.began]
        return command, unlocked

    def _compare(self, wanted: Desired) -> list[str]:
        """Return the complaints that stay when all that moves has settled."""
        until = time.monotonic() + _AGREE_SECONDS
        while True:
            control = self.lane.control()
            try:
                found = list(checks.complaints(wanted, self.lane.deployment(), service.read(control)))
            except ControlError as error:
                found = [f"the emulator does not answer: {error}"]
            if not found or time.monotonic() > until:
                self.lane.look(control)
                lane = self.lane
                return [*found, *checks.doubled(lane.counted(), there=lane.there, struck=lane.struck)]
            time.sleep(0.3)

    def _end(self) -> list[str]:
        """Destroy everything. Return what is left."""
        try:
            command = self.lane.run("down")
            if command.code:
                return [f"down failed: {_reason(command.output)}"]
            return [f"left after the end: {name}" for name in service.read(self.lane.control()).names()]
        except Hung:
            return ["down did not end"]

    # Kills

    def _struck(self, strike: Strike) -> tuple[Command, bool, tuple[str, ...]]:
        """Run the command with the kill. Return whether it was in time, and the operations of that moment."""
        control = self.lane.control()
        number = control.add_fault(strike.fault(seconds=_HELD_SECONDS))["number"] if strike.method else None
        command = self.lane.start(strike.verb)
        try:
            if not self._until(strike, command, control):
                command.wait()
                return command, False, ()
            in_flight = tuple(self.lane.in_flight())
            struck = self._kill(strike, command, control)
        finally:
            if number is not None:
                with contextlib.suppress(ControlError):  # it may be the victim
                    control.clear_faults()
        try:
            with self.lane.watched():
                if strike.victim is Victim.DISK:
                    command.wait_at_most(strike.fills)
                    self.lane.disk.free()
                command.wait()
        finally:
            self.lane.disk.free()
        return command, struck, in_flight

    def _until(self, strike: Strike, command: Command, control: Control) -> bool:
        """Wait for the point of the kill. Return False if the command ended before."""
        if not strike.method:
            wait = strike.seconds
            if wait is None:
                wait = strike.share * (statistics.median(self._lengths) if self._lengths else _USUAL_SECONDS)
            else:
                while command.code is None and not _BEGUN.search(command.output):
                    time.sleep(0.02)
            command.wait_at_most(wait)
            return command.code is None
        while command.code is None:
            with contextlib.suppress(ControlError):
                if any(one["held"] for one in control.faults()):
                    return True
            time.sleep(0.03)
        return False

    def _kill(self, strike: Strike, command: Command, control: Control) -> bool:
        match strike.victim:
            case Victim.PULUMI:
                victims = [one for one in command.family() if _is_pulumi(one)] or command.family()[:1]
            case Victim.COMMAND:
                victims = command.family()
            case Victim.PROVIDER:
                victims = [one for one in command.family() if is_module(one, "pulumi.dynamic")]
            case Victim.EMULATOR:
                victims = self.lane.emulator()
            case Victim.MACHINE:
                victims = self.lane.processes()
            case Victim.SUPERVISOR:
                victims = _one(self.lane.supervisors(), strike.share)
            case Victim.REPLICA:
                victims = _one(self.lane.replicas(), strike.share)
            case Victim.DISK:
                self.lane.disk.fill()
                return True
        if strike.victim in (Victim.MACHINE, Victim.SUPERVISOR, Victim.REPLICA):
            with contextlib.suppress(ControlError):  # so that the job of each trial and pipeline is known
                self.lane.look(control)
            self.lane.strike(victims)
        for one in victims:
            kill(one)
        psutil.wait_procs(victims, timeout=_DIES_SECONDS)
        return bool(victims)


def _is_pulumi(process: psutil.Process) -> bool:
    return words(process)[:1] != [] and Path(words(process)[0]).name == "pulumi"


def _one(found: list[psutil.Process], share: float) -> list[psutil.Process]:
    return found[int(share * len(found)) :][:1]


def _reason(output: str) -> str:
    """Return the first error that the output names, without numbers, so that equal findings are equal."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.partition("error: ")[2] for line in lines if "error: " in line]
    reasons = [error for error in errors if "update failed" not in error] or lines[-1:] or ["no output"]
    return re.sub(r"\d[\d.]{4,}", "N", reasons[0])[:300]
