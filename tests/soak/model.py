"""A model of the effects of commands on a declaration.

From the declaration, and from Pulumi's state and the service before a command, it forecasts how many jobs are
submitted, what becomes of the previous job, and which commands are refused. It shares no code with `runs`.
`test_soak_model.py` compares both with rules that are written out there. Those rules do not cover the state
after an interruption (`_of_unfinished`), where the model is a second opinion by the same authors.
Pure: no engine, no clock, no randomness.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Literal


class JobState(enum.Enum):
    """The state of a job of the service."""

    LIVE = "live"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self not in (JobState.LIVE, JobState.CANCELLING)


class RunState(enum.Enum):
    """The state of a declaration's last run if it has no job."""

    NONE = "none yet"
    GONE = "gone"


class Decision(enum.Enum):
    RUN = "runs"
    STAY = "stays"
    REFUSE = "refused"


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The spec of a run: a program that succeeds, fails, or runs until it is stopped."""

    program: Literal["succeeds", "fails", "runs"]
    salt: int


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One declaration of the program. `names`: the present name, then all previous ones."""

    names: tuple[str, ...]
    spec: Spec
    run_token: str | None = None
    rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change"
    rerun_limit: int = 1
    protect_running: bool = False
    on_delete: Literal["delete", "cancel"] = "delete"
    wait: Literal["none", "running", "done"] = "none"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job of the declaration, in the service. `key`: the key of its run, from its label."""

    name: str
    key: str
    spec: Spec
    state: JobState
    created: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """The present run in the state, with the declaration for which it was issued."""

    key: str
    reruns: int
    spec: Spec
    run_token: str | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """The job in the state. `ended`: the recorded end, or None. `stopped`: its deletion has begun."""

    job: str
    run: str
    ended: JobState | None
    rerun: str
    protect_running: bool
    on_delete: str
    stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class World:
    """A declaration between two commands.

    `jobs`: the oldest first. `released`: the job that an unfinished replacement has deleted or released.
    """

    run: Run | None = None
    record: Record | None = None
    jobs: tuple[Job, ...] = ()
    released: str | None = None

    def job(self, name: str) -> Job | None:
        return next((job for job in self.jobs if job.name == name), None)

    def of_key(self, key: str) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.key == key and job.name != self.released)

    @property
    def recorded_job(self) -> Job | None:
        return self.job(self.record.job) if self.record else None

    @property
    def is_current(self) -> bool:
        """True if the job on record is that of the run on record."""
        return self.run is not None and self.record is not None and self.record.run == self.run.key


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The effect of a command on a declaration.

    `submits`: how many jobs. `asked_for`: the user requested the run, so no answer of the service changes it.
    `new_key`: a new run is recorded. `removes`: the job that is removed. `reruns`: the count afterwards.
    `message`: expected in the output, with {name}. `undecided`: the number of jobs is not checked.
    """

    decision: Decision
    submits: int = 0
    asked_for: bool = False
    new_key: bool = False
    removes: str | None = None
    keeps_record: bool = False
    reruns: int = 0
    spec: Spec | None = None
    message: str | None = None
    undecided: bool = False
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of Pulumi; `replace` and `target` are declarations, `target` None for all of them."""

    verb: Literal["up", "preview", "refresh", "destroy"]
    refresh: bool = False
    replace: frozenset[str] = field(default_factory=frozenset)
    target: frozenset[str] | None = None


def decide(
    declared: Declared,
    last_run: JobState | RunState,
    *,
    changed: bool,
    reruns: int = 0,
    on_demand: bool = False,
) -> tuple[Decision, str]:
    """Return the decision by the rules of reruns, and the reason."""
    live = last_run is JobState.LIVE
    if last_run is RunState.NONE:
        return Decision.RUN, "it has not run yet"
    if on_demand and declared.rerun == "never":
        return Decision.REFUSE, "never, even on request"
    if changed and declared.rerun == "never":
        return Decision.STAY, "changed, but never"
    if (on_demand or changed) and live and declared.protect_running:
        return Decision.REFUSE, "protected while live"
    if on_demand or changed:
        return Decision.RUN, "requested" if on_demand else "changed"
    if live or last_run is JobState.CANCELLING:
        return Decision.STAY, "not ended"
    if declared.rerun == "never":
        return Decision.STAY, "never"
    if last_run is RunState.GONE:
        return Decision.RUN, "gone"
    if declared.rerun == "always":
        return Decision.RUN, "always"
    if last_run is JobState.FAILED and declared.rerun == "on_failure":
        return (Decision.RUN, "failed") if reruns < declared.rerun_limit else (Decision.STAY, "limit")
    return Decision.STAY, "a steady state"


def last_run_state(world: World) -> JobState | RunState:
    """Return the state of the last run: a recorded end is final; a run without a record is looked up.

    A job that an interrupted deletion has cancelled counts as gone.
    """
    if world.run is None:
        return RunState.NONE
    if world.is_current and world.record is not None:
        job = world.recorded_job
        if world.record.stopped and (job is None or job.state in (JobState.CANCELLED, JobState.CANCELLING)):
            return RunState.GONE
        return world.record.ended or (job.state if job else RunState.GONE)
    mine = world.of_key(world.run.key)
    return mine[-1].state if mine else RunState.NONE


def refreshed(world: World) -> World:
    """Return the world after `pulumi refresh`: it records ends and drops lost jobs without one."""
    record, job = world.record, world.recorded_job
    if record is None:
        return world
    if job is None:
        stays = record.ended is not None or record.rerun == "never"
        return world if stays else replace(world, record=None)
    return replace(world, record=replace(record, ended=job.state if job.state.has_ended else None))


def removal(world: World) -> Forecast:
    """Forecast the removal of the declaration, which depends on the record."""
    job, record = world.recorded_job, world.record
    if record is not None and job is not None and job.state is JobState.LIVE and record.protect_running:
        return Forecast(
            decision=Decision.REFUSE, message="{name} cannot be destroyed", why="protected while live"
        )
    return Forecast(
        decision=Decision.STAY,
        removes=job.name if job else None,
        keeps_record=record is not None and record.on_delete == "cancel",
        why="taken away",
    )


def deployment(declared: Declared | None, world: World, *, on_demand: bool = False) -> Forecast:
    """Forecast `pulumi up` for the declaration; None is one that is not in the program."""
    if declared is None:
        return removal(world)
    run = world.run
    if run is None:
        return Forecast(
            decision=Decision.RUN,
            submits=1,
            asked_for=True,
            new_key=True,
            spec=declared.spec,
            removes=world.record.job if world.record else None,
            why="first run",
        )
    changed = run.spec != declared.spec or (run.run_token or None) != (declared.run_token or None)
    last_run = last_run_state(world)
    decision, why = decide(declared, last_run, changed=changed, reruns=run.reruns, on_demand=on_demand)
    if world.is_current or decision is Decision.REFUSE:
        return _of_current(declared, world, last_run, decision, why, changed=changed, on_demand=on_demand)
    return _of_unfinished(declared, world, decision, why, changed=changed)


def known_defect(declared: Declared | None, world: World) -> str | None:
    """Return the defect in `DEFECTS` that may decide instead of the rules, or None."""
    if declared is None or world.run is None:
        return None
    changed = (world.run.spec, world.run.run_token or None) != (declared.spec, declared.run_token or None)
    return "never" if declared.rerun == "never" and changed and not world.is_current else None


def _of_current(
    declared: Declared,
    world: World,
    last_run: JobState | RunState,
    decision: Decision,
    why: str,
    *,
    changed: bool,
    on_demand: bool,
) -> Forecast:
    """Forecast a deployment of a state that agrees with its run, so that nothing was interrupted."""
    run = world.run
    assert run is not None
    if decision is Decision.REFUSE:
        return Forecast(decision=decision, reruns=run.reruns, message="{name} cannot be replaced", why=why)
    if decision is Decision.STAY:
        is_printed = (
            changed or isinstance(last_run, RunState) or last_run in (JobState.FAILED, JobState.CANCELLED)
        )
        is_printed = is_printed or last_run is JobState.CANCELLING
        message = "{name} stays: " if is_printed else None
        return Forecast(decision=decision, reruns=run.reruns, spec=run.spec, message=message, why=why)
    record = world.record
    # If the rules alone decide for a run, with or without --replace, it is counted and gets a new key.
    by_itself, own_why = decide(declared, last_run, changed=changed, reruns=run.reruns)
    absent = world.recorded_job is None or last_run is RunState.GONE
    new_key = by_itself is Decision.RUN and not (not changed and absent)
    reruns = run.reruns if not new_key else run.reruns + 1 if own_why == "failed" else 0
    return Forecast(
        decision=decision,
        submits=1,
        asked_for=changed or on_demand,
        new_key=new_key,
        removes=record.job if record else None,
        keeps_record=record is not None,
        reruns=reruns,
        spec=declared.spec,
        message="{name} will run" if by_itself is Decision.RUN and not on_demand else None,
        why=why,
    )


def _of_unfinished(
    declared: Declared, world: World, decision: Decision, why: str, *, changed: bool
) -> Forecast:
    """Forecast a deployment after an interruption: the recorded job is missing or the previous one."""
    run, old = world.run, world.recorded_job
    assert run is not None
    mine = world.of_key(run.key)
    last_run = last_run_state(world)
    if old is not None and old.state is JobState.LIVE and declared.protect_running:
        return Forecast(
            decision=Decision.REFUSE, reruns=run.reruns, message="{name} cannot be replaced", why=why
        )
    replaced = Forecast(
        decision=Decision.RUN,
        removes=old.name if old else None,
        keeps_record=world.record is not None,
        undecided=world.record is not None and declared.rerun == "never",
        why=f"interrupted; {why}",
    )
    if decision is Decision.STAY or (decision is Decision.RUN and last_run is RunState.NONE and not changed):
        # A job that was cancelled before it was recorded does not count: the run is still due.
        adopted = any(job.state not in (JobState.CANCELLED, JobState.CANCELLING) for job in mine)
        return replace(
            replaced, submits=0 if adopted else 1, reruns=run.reruns, spec=run.spec, asked_for=True
        )
    reruns = run.reruns + 1 if why == "failed" else 0
    return replace(replaced, submits=1, new_key=True, asked_for=changed, reruns=reruns, spec=declared.spec)
