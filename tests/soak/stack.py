"""One stack of the soak: the real engine follows a plan, and the model checks each step."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from soak import checks, commands
from soak.checks import Ending, Observed
from soak.declaring import PROGRAM, pool_on_the_wire, resource, urn
from soak.limits import DEFECTS
from soak.model import (
    Command,
    Decision,
    Declared,
    Forecast,
    Job,
    JobState,
    Spec,
    World,
    deployment,
    known_defect,
    refreshed,
)
from soak.observing import RUN_LABEL, State, Watcher, job_of, slot_of, states, world
from soak.plan import Plan, Step
from support.client import engine as support
from vertex_emulator import launcher
from vertex_emulator.control import Control

_SETTLE_SECONDS = 60.0
_AGAIN = re.compile(r"(\S+) will run again: ")
_ANSWERED = re.compile(r"pulumi-python:dynamic:\w+ \S+ (created|updated|deleted|replaced|refresh) ")
_FOREIGN = Spec(program="runs", salt=0)


class Disagreement(Exception):  # noqa: N818  not an error of the soak
    """The engine did something that the model does not allow. `complaints` has one sentence each."""

    def __init__(self, step: int, complaints: list[str], output: str) -> None:
        super().__init__("\n".join(complaints))
        self.step, self.complaints, self.output = step, complaints, output


@dataclass
class Tally:
    """Counts of a stack's events."""

    steps: int = 0
    submissions: int = 0
    refusals: int = 0
    kills: int = 0
    faults: int = 0

    def add(self, other: Tally) -> None:
        for name in vars(other):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Stack:
    """A stack in a folder of its own, with its own emulator."""

    folder: Path
    slots: tuple[str, ...]
    defects: frozenset[str] = frozenset(DEFECTS)
    tally: Tally = field(default_factory=Tally)
    worlds: dict[str, World] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    _states: dict[str, State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = support.make(self.folder)
        self.engine.environment["PULUMI_STACK"] = "test"
        self.engine.write(PROGRAM)
        self.worlds = {slot: World() for slot in self.slots}

    def run(self, plan: Plan, only: frozenset[int] | None = None) -> None:
        """Run the plan, or some of its steps. Raises `Disagreement`."""
        self._make_foreign()
        for number, step in enumerate(plan.steps):
            if only is None or number in only:
                self._step(number, step)

    def close(self) -> None:
        """End all jobs and the emulator; nothing is checked any more."""
        emulator = launcher.find(self.engine.data_dir)
        if emulator is None:
            return
        endpoint = self._endpoint()
        for record in custom_jobs.list_live(endpoint):
            custom_jobs.cancel(endpoint, record.name)
        self._settle(everything=True)
        launcher.stop(self.engine.data_dir)

    # One step

    def _step(self, number: int, step: Step) -> None:
        declared = {slot: one for slot, one in step.declared.items() if slot in self.slots}
        self._act(step.behind)
        self._settle()
        self._look(declared)
        before = dict(self.worlds)
        command = self._possible(step.command, declared)
        forecasts = self._forecasts(command, declared)
        self._write(declared, waits=command.target is None)

        emulator = launcher.ensure(self.engine.data_dir)
        watcher = Watcher(foreign=frozenset(self.foreign.values()))
        watcher.start(Control(url=emulator.url, token=emulator.token))
        ran = commands.run(
            self.engine, self._arguments(command, declared), step.disturbance, emulator=emulator
        )
        again = launcher.ensure(self.engine.data_dir)
        watcher.move(Control(url=again.url, token=again.token))
        self._settle()
        watcher.stop()
        self._states = states(self.engine.checkpoint())
        self._look(declared)
        self._count(step, ran)

        found = list(self._general(command, ran, watcher))
        ending = Ending.BROKEN if ran.code else Ending.SURVIVED if ran.disturbed else Ending.CLEAN
        refused = {slot for slot, one in forecasts.items() if one.decision is Decision.REFUSE}
        self.tally.refusals += len(refused)
        found += _of_ending(command, ran, refused, forecasts, declared)
        for slot in self.slots:
            known = {job.name for job in before[slot].jobs}
            here = {job.name for job in self.worlds[slot].jobs} | watcher.names.get(slot, set())
            seen = Observed(before=before[slot], after=self.worlds[slot], submitted=frozenset(here - known))
            self.tally.submissions += len(seen.submitted)
            found += [
                f"{slot}: {complaint}"
                for complaint in _of_slot(command, declared.get(slot), forecasts.get(slot), seen, ending)
            ]
            if number == 0 and seen.before.jobs:
                found.append(f"{slot}: jobs existed before the first step")
        if ending is Ending.CLEAN and command.verb == "up":
            found += _of_messages(ran.output, command, declared, forecasts)
        if found:
            raise Disagreement(number, found, ran.output)

    def _forecasts(self, command: Command, declared: Mapping[str, Declared]) -> dict[str, Forecast]:
        """Return the forecast of each declaration that the command affects."""
        if command.verb == "refresh":
            return {}
        forecasts = {}
        for slot in self.slots:
            if command.target is not None and slot not in command.target:
                continue
            here = refreshed(self.worlds[slot]) if command.refresh else self.worlds[slot]
            one = declared.get(slot) if command.verb != "destroy" else None
            forecast = deployment(one, here, on_demand=slot in command.replace)
            if known_defect(one, here) in self.defects:
                forecast = replace(forecast, undecided=True)
            forecasts[slot] = forecast
        return forecasts

    def _possible(self, command: Command, declared: Mapping[str, Declared]) -> Command:
        """Return the command without declarations that it cannot name: missing and renamed ones."""

        def named(slot: str) -> bool:
            job = self._states.get(slot, State()).job
            here = job is not None and slot in declared
            return here and job["urn"].endswith(f"::{declared[slot].names[0]}")

        replace_ = frozenset(slot for slot in command.replace if named(slot))
        if command.refresh:
            replace_ = frozenset(slot for slot in replace_ if refreshed(self.worlds[slot]).record)
        target = command.target
        if target is not None:
            target = frozenset(slot for slot in target if named(slot))
            if not target:
                return Command(verb="refresh")
        return Command(verb=command.verb, refresh=command.refresh, replace=replace_, target=target)

    def _arguments(self, command: Command, declared: Mapping[str, Declared]) -> list[str]:
        arguments = [command.verb, "--non-interactive"]
        if command.verb != "preview":
            arguments += ["--yes", "--skip-preview"]
        if command.refresh:
            arguments.append("--refresh")
        for slot in sorted(command.replace):
            arguments += ["--replace", urn("CustomJob", declared[slot])]
        for slot in sorted(command.target or ()):
            arguments += ["--target", urn("CustomJob", declared[slot])]
        return arguments

    def _write(self, declared: Mapping[str, Declared], *, waits: bool) -> None:
        program = [resource(one, waits=waits) for _, one in sorted(declared.items())]
        (self.folder / "infra" / "declarations.json").write_text(json.dumps(program, indent=1))

    # The service

    def _endpoint(self) -> Endpoint:
        launcher.ensure(self.engine.data_dir)
        return self.engine.endpoint()

    def _jobs(self) -> dict[str, list[Job]]:
        found: dict[str, list[Job]] = {slot: [] for slot in self.slots}
        for record in custom_jobs.list_jobs(self._endpoint()):
            if record.name not in self.foreign.values():
                found[slot_of(record.display_name)].append(job_of(record))
        return found

    def _look(self, declared: Mapping[str, Declared]) -> None:
        jobs = self._jobs()
        for slot in self.slots:
            state = self._states.get(slot, State())
            self.worlds[slot] = world(
                state,
                jobs[slot],
                self.worlds[slot],
                declared.get(slot),
                deletions=self.engine.data_dir / "deletions",
            )

    def _act(self, behind: Mapping[str, str]) -> None:
        """Cancel or delete jobs outside Pulumi; only an ended job can be deleted."""
        endpoint = self._endpoint()
        jobs = self._jobs()
        for slot, act in behind.items():
            if slot not in jobs or not jobs[slot]:
                continue
            newest = max(jobs[slot], key=lambda job: job.created)
            if newest.state is JobState.LIVE:
                custom_jobs.cancel(endpoint, newest.name)
            if act == "delete":
                self._settle()
                custom_jobs.delete(endpoint, newest.name)

    def _settle(self, *, everything: bool = False) -> None:
        """Wait for jobs that end by themselves: a command finds only ended and long-running jobs."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            records = custom_jobs.list_live(self._endpoint())
            waited = [
                job
                for job in map(job_of, records)
                if everything or job.state is JobState.CANCELLING or job.spec.program != "runs"
            ]
            if not waited:
                return
            if time.monotonic() > deadline:
                raise Disagreement(-1, [f"jobs do not end: {waited}"], "")
            time.sleep(0.05)

    def _make_foreign(self) -> None:
        """Create two foreign jobs with the same labels as ours: one with a run's key, one without."""
        labels_of_owner = {
            "pulumi-project": "engine-test",
            "pulumi-stack": "test",
            "pulumi-resource": self.slots[0],
        }
        for name, labels in (
            ("keyed", {**labels_of_owner, RUN_LABEL: "0123456789abcdef-1"}),
            ("bare", labels_of_owner),
        ):
            declared = Declared(names=(self.slots[0],), spec=_FOREIGN)
            wire = {
                "displayName": self.slots[0],
                "labels": labels,
                "jobSpec": {"workerPoolSpecs": [pool_on_the_wire(declared)]},
            }
            self.foreign[name] = custom_jobs.create(self._endpoint(), wire).name

    def _general(self, command: Command, ran: commands.Ran, watcher: Watcher) -> Iterator[str]:
        """Yield the violations of rules for all commands."""
        if "Traceback" in ran.output:
            yield "a traceback was printed"
        if ran.hung:
            yield "the command did not end"
        if ran.stayed and _ANSWERED.search(ran.output) and not command.refresh:
            yield f"provider processes outlived the killed deployment: {ran.stayed}"
        for slot, live in watcher.most.items():
            if len(live) > 1:
                yield f"{slot}: {len(live)} jobs were live at once: {', '.join(live)}"
        for name, job in self.foreign.items():
            try:
                state = custom_jobs.get(self._endpoint(), job).state
            except NotFound:
                yield f"the {name} foreign job was deleted"
            except CloudError as error:
                yield f"the {name} foreign job cannot be read: {error}"
            else:
                if state.is_terminal or state.word == "CANCELLING":
                    yield f"the {name} foreign job is {state.word}"

    def _count(self, step: Step, ran: commands.Ran) -> None:
        self.tally.steps += 1
        if ran.disturbed:
            if isinstance(step.disturbance, commands.Kill):
                self.tally.kills += 1
            else:
                self.tally.faults += 1


def _of_slot(
    command: Command, declared: Declared | None, forecast: Forecast | None, seen: Observed, ending: Ending
) -> Iterator[str]:
    if command.verb == "refresh" or forecast is None or command.verb == "preview":
        expected = refreshed(seen.before) if command.verb == "refresh" else seen.before
        is_dropped = command.verb == "refresh" and seen.after.run is None
        yield from checks.untouched(
            replace(seen, before=replace(seen.before, run=None)) if is_dropped else seen
        )
        if ending is Ending.CLEAN and seen.after.record != expected.record:
            yield f"the record is {seen.after.record}, expected {expected.record}"
        return
    if command.refresh:
        seen = Observed(before=refreshed(seen.before), after=seen.after, submitted=seen.submitted)
    yield from checks.complaints(declared if command.verb == "up" else None, forecast, seen, ending)


def _of_ending(
    command: Command,
    ran: commands.Ran,
    refused: set[str],
    forecasts: Mapping[str, Forecast],
    declared: Mapping[str, Declared],
) -> Iterator[str]:
    """Yield complaints unless the command failed exactly where it must, and printed the reason."""
    if command.verb == "preview":
        # A preview does not call the provider for removals and replacements on demand.
        refused = {slot for slot in refused if slot in declared}
    if not ran.code and refused:
        yield f"{', '.join(sorted(refused))}: it must be refused, but the command succeeded"
    if ran.disturbed:
        return
    if ran.code and not refused:
        yield f"the command failed with code {ran.code}, undisturbed"
    if (
        ran.code
        and refused
        and not any(_is_printed(forecasts[slot], slot, declared, ran) for slot in refused)
    ):
        yield f"the refusal of {', '.join(sorted(refused))} is not printed"


def _is_printed(forecast: Forecast, slot: str, declared: Mapping[str, Declared], ran: commands.Ran) -> bool:
    names = declared[slot].names if slot in declared else ()
    message = forecast.message or ""
    return any(message.format(name=name) in ran.output for name in names) or bool(
        re.search(message.format(name=rf"{slot}(-\d+)?"), ran.output)
    )


def _of_messages(
    output: str, command: Command, declared: Mapping[str, Declared], forecasts: Mapping[str, Forecast]
) -> Iterator[str]:
    """Yield missing and wrong messages of a successful deployment."""
    again = {slot_of(name) for name in _AGAIN.findall(output)}
    for slot, forecast in forecasts.items():
        if slot not in declared or forecast.undecided or forecast.why.startswith("interrupted"):
            continue
        if forecast.message and not re.search(forecast.message.format(name=rf"{slot}(-\d+)?"), output):
            yield f"{slot}: the output lacks '{forecast.message.format(name=slot)}' ({forecast.why})"
        if slot in again and "will run" not in (forecast.message or "") and slot not in command.replace:
            yield f"{slot}: the output announces a rerun that does not happen ({forecast.why})"
