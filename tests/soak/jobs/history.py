"""Histories of one job on the engine in this process, each step compared with the model's forecast.

Not covered: a list of jobs that lags; answers 401, 403, 404 and 409 by a fault, since a 404 is the one way
for the service to say that a job is gone; whether a disturbed deployment that succeeded runs a job that is
due only because of the state of the last run, which is unknown without an answer; and records of ended jobs
that a killed deployment left behind, which `gc` lists.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT
from soak.jobs import checks
from soak.jobs.checks import Ending, Observed
from soak.jobs.model import (
    Command,
    Decision,
    Declared,
    Forecast,
    Job,
    JobState,
    Record,
    Run,
    Spec,
    World,
    deployment,
    refreshed,
)
from soak.jobs.plan import Act, Step
from support.client.in_process.small_engine import Entry, kills, urn_of
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration, has_ended, state_of
from support.waiting import eventually

_RUN_LABEL = "vertex-training-run"
_PROGRAMS = {"succeeds": ("true",), "fails": ("false",), "runs": ("sleep", "3600")}
_ENDS = {each.name: each for each in JobState if each.has_ended} | {"EXPIRED": JobState.FAILED}
_REFUSALS = ("cannot be destroyed", "cannot be replaced")


class Disagreement(Exception):  # noqa: N818  not an error of the soak
    """The engine did something that the model does not allow."""


@dataclass
class Counts:
    """Counts of the events of all histories."""

    steps: int = 0
    submissions: int = 0
    refusals: int = 0
    kills: int = 0
    faults: int = 0


@dataclass
class History:
    """A stack with one job, on an emulator that others may use at the same time."""

    data_dir: Path
    counts: Counts = field(default_factory=Counts)
    world: World = field(default_factory=World)
    foreign: frozenset[str] = frozenset()
    _seen: set[str] = field(default_factory=set)
    _most: int = 0
    """The most jobs that were live at once during a command."""

    def __post_init__(self) -> None:
        self.trial = Trial(subject=CUSTOM_JOB, data_dir=self.data_dir)

    def run(self, steps: Sequence[Step]) -> None:
        """Raises Disagreement with what is wrong and after which step."""
        self._make_foreign()
        try:
            for number, step in enumerate(steps):
                if found := list(self.do(step)):
                    done = [f"  {each}" for each in steps[: number + 1]]
                    raise Disagreement("\n".join([*found, "after", *done]))
        finally:
            for job in (
                *self.jobs(),
                *(self.trial.control.call("GET", f"/v1/{one}") for one in self.foreign),
            ):
                if not has_ended(job):
                    self.trial.control.call("POST", f"/v1/{job['name']}:cancel")

    def do(self, step: Step) -> Iterator[str]:
        """Do one step. Yield what is not as forecast."""
        self._act(step.behind)
        self._settle()
        self._look(step.declared)
        before, command = self.world, self._possible(step.command)
        start = refreshed(before) if command.refresh else before
        one = None if command.verb == "destroy" else step.declared
        forecast = deployment(one, start, on_demand=command.replace) if command.verb != "refresh" else None
        self._seen, self._most = {job.name for job in before.jobs}, 0
        disturbed, error = self._run(step, command)
        self._settle()
        self._look(step.declared)
        after = {job.name for job in self.world.jobs} | self._seen
        submitted = frozenset(after - {job.name for job in before.jobs})
        self.counts.steps += 1
        self.counts.submissions += len(submitted)
        yield from self._general(forecast, disturbed, error)
        ending = Ending.BROKEN if error else Ending.SURVIVED if disturbed else Ending.CLEAN
        seen = Observed(before=start, after=self.world, submitted=submitted)
        if forecast is None:
            yield from _of_refresh(replace(seen, before=before), ending)
        else:
            yield from checks.complaints(one, forecast, seen, ending)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs of the stack, the oldest first."""
        found = [one for one in self.trial.records() if one["name"] not in self.foreign]
        return sorted(found, key=lambda one: str(one["createTime"]))

    def forget(self) -> None:
        """Remove the job from the state, as `pulumi state delete` does."""
        engine = self.trial.engine
        engine.entries[:] = [one for one in engine.entries if one.name != self.trial.name]

    def _run(self, step: Step, command: Command) -> tuple[bool, str]:
        """Run the command. Return whether it was disturbed, and why it did not succeed."""
        control, points = self.trial.control, 0

        def is_reached(text: str) -> bool:
            nonlocal points
            points += 1
            if text.startswith("after"):
                found = self.jobs()
                self._seen |= {one["name"] for one in found}
                self._most = max(self._most, len([one for one in found if _state(one) is JobState.LIVE]))
            return points - 1 == step.dies_at

        def operate() -> None:
            engine = self.trial.engine
            if command.refresh or command.verb == "refresh":
                engine.refresh()
            if command.verb == "up":
                declared = step.declared and declaration(step.declared)
                self.trial.up(declared, replace=command.replace)
            if command.verb == "destroy":
                engine.destroy()

        error, fired = "", False
        number = control.add_fault(step.fault)["number"] if step.fault else None
        try:
            was_killed = kills(self.trial.engine, operate, is_reached)
        except Exception as failure:
            was_killed, error = False, f"{failure}\n{''.join(traceback.format_exception(failure))}"
        if number is not None:
            fired = any(one["fired"] for one in control.faults() if one["number"] == number)
            control.remove_fault(number)
        self.counts.kills += was_killed
        self.counts.faults += fired
        return was_killed or fired, "it was killed" if was_killed else error

    def _possible(self, command: Command) -> Command:
        """Return the command without a replacement of what is not in the state."""
        record = refreshed(self.world).record if command.refresh else self.world.record
        return replace(command, replace=command.replace and command.verb == "up" and record is not None)

    def _general(self, forecast: Forecast | None, disturbed: bool, error: str) -> Iterator[str]:
        if self._most > 1:
            yield f"{self._most} jobs were live at once"
        for name in self.foreign:
            state = state_of(self.trial.control.call("GET", f"/v1/{name}"))
            if state in _ENDS or state == "CANCELLING":
                yield f"job {name} of somebody else is {state}"
        is_refused = forecast is not None and forecast.decision is Decision.REFUSE
        self.counts.refusals += is_refused
        if is_refused and not error:
            yield "it must be refused, but the command succeeded"
        if error and not disturbed and not (is_refused and any(each in error for each in _REFUSALS)):
            yield f"the command failed undisturbed: {error}"

    # State and service

    def _look(self, declared: Declared | None) -> None:
        """Read the world; a run keeps the declaration for which it was issued."""
        engine, before = self.trial.engine, self.world
        mine = [one for one in engine.entries if one.name == self.trial.name and not one.deletes]
        entry = next(iter(mine), None)
        run = None
        if entry is not None:
            hidden = entry.outs[HIDDEN_INPUT]
            key, reruns = hidden["key"], int(hidden["reruns"])
            if before.run is not None and before.run.key == key:
                run = replace(before.run, reruns=reruns)
            else:
                assert declared is not None, f"a run without a declaration: {key}"
                run = Run(key=key, reruns=reruns, spec=declared.spec, run_token=declared.run_token)
        self.world = World(
            run=run,
            record=None if entry is None or entry.replaced else self._record(entry),
            jobs=tuple(map(_job, self.jobs())),
            released=entry.id if entry is not None and entry.replaced else None,
            begun=frozenset(engine.pending.get(urn_of(self.trial.name), ())),
        )

    def _record(self, entry: Entry) -> Record:
        outs = entry.outs
        note = self.data_dir / "deletions" / "-".join(entry.id.split("/")[-2:])
        return Record(
            job=entry.id,
            run=outs[HIDDEN_INPUT]["key"],
            ended=_ENDS.get(state_of(outs)),
            rerun=outs["rerun"],
            protect_running=outs["protect_running"],
            on_delete=outs["on_delete"],
            stopped=note.exists(),
        )

    def _act(self, behind: Act | None) -> None:
        """Cancel or delete the newest job outside Pulumi; only an ended job can be deleted."""
        jobs = self.jobs()
        if behind is None or not jobs:
            return
        name, control = jobs[-1]["name"], self.trial.control
        if _state(jobs[-1]) is JobState.LIVE:
            control.call("POST", f"/v1/{name}:cancel")
        if behind == "delete":
            self._settle()
            control.call("DELETE", f"/v1/{name}")

    def _settle(self) -> None:
        """Wait for jobs that end by themselves: a command finds only ended and long-running jobs."""

        def moves(job: Job) -> bool:
            return not job.state.has_ended and (
                job.state is JobState.CANCELLING or job.spec.program != "runs"
            )

        eventually(lambda: not any(moves(_job(one)) for one in self.jobs()))

    def _make_foreign(self) -> None:
        """Create two foreign jobs with the same labels as ours: one with a run's key, one without."""
        name = self.trial.name
        labels = {"pulumi-project": "engine-test", "pulumi-stack": "test", "pulumi-resource": name}
        container = {"imageUri": "python:3.11-slim", "command": ["sleep", "3600"]}
        pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}
        for more in ({_RUN_LABEL: "0123456789abcdef-1"}, {}):
            body = {
                "displayName": name,
                "labels": {**labels, **more},
                "jobSpec": {"workerPoolSpecs": [{**pool, "containerSpec": container}]},
            }
            path = "/v1/projects/local/locations/us-central1/customJobs"
            self.foreign |= {self.trial.control.call("POST", path, body)["name"]}


def declaration(declared: Declared) -> Declaration:
    """Return the values of the program."""
    names = ("run_token", "rerun", "rerun_limit", "protect_running", "on_delete")
    options = ", ".join(f"{name}={getattr(declared, name)!r}" for name in names)
    return Declaration(
        spec=f"spec-{declared.spec.salt}",
        command=_PROGRAMS[declared.spec.program],
        options=f'{options}, on_replace="keep"',
    )


def shortened(data_dir: Path, steps: Sequence[Step], *, tries: int = 30) -> Sequence[Step]:
    """Return the history without steps that a disagreement does not need."""
    for number in reversed(range(len(steps))):
        fewer = [*steps[:number], *steps[number + 1 :]]
        try:
            if (tries := tries - 1) < 0:
                break
            History(data_dir).run(fewer)
        except Disagreement:
            steps = fewer
    return steps


def _of_refresh(seen: Observed, ending: Ending) -> Iterator[str]:
    """Yield what is wrong after a refresh, which changes the record alone."""
    expected = refreshed(seen.before)
    is_dropped = seen.after.run is None
    yield from checks.untouched(replace(seen, before=replace(seen.before, run=None)) if is_dropped else seen)
    if ending is Ending.CLEAN and seen.after.record != expected.record:
        yield f"the record is {seen.after.record}, expected {expected.record}"


def _job(record: Mapping[str, Any]) -> Job:
    container = record["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    (program,) = [name for name, command in _PROGRAMS.items() if list(command) == container["command"]]
    salt = {one["name"]: one["value"] for one in container["env"]}["SPEC"].removeprefix("spec-")
    return Job(
        name=record["name"],
        key=record["labels"].get(_RUN_LABEL, ""),
        spec=Spec(program=program, salt=int(salt)),  # type: ignore[arg-type]
        state=_state(record),
        created=record["createTime"],
    )


def _state(record: Mapping[str, Any]) -> JobState:
    state = state_of(record)
    return JobState.CANCELLING if state == "CANCELLING" else _ENDS.get(state, JobState.LIVE)
