"""A model of the effects of commands on a declaration.

From the declaration, and from Pulumi's state and the service before a command, it forecasts how many jobs are
submitted, what becomes of the previous job, and which commands are refused. It shares no code with `runs`.
`test_job_model.py` compares both with rules that are written out there. Those rules do not cover the state
after an interruption (`_of_unfinished`), where the model is a second opinion by the same authors.
Pure: no engine, no clock, no randomness.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
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
    """The declaration of the program."""

    spec: Spec
    run_token: str | None = None
    rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change"
    rerun_limit: int = 1
    protect_running: bool = False
    on_delete: Literal["delete", "cancel"] = "delete"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job of the declaration, in the service. `key`: the key of its run, from its label."""

    name: str
    key: str
    spec: Spec
    state: JobState
    created: str

    @property
    def identity(self) -> str:
        return self.key.rpartition("-")[0]

    @property
    def generation(self) -> int:
        return int(self.key.rpartition("-")[2])


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run of the job in the state, or of one that is still to be replaced, with its declaration."""

    key: str
    reruns: int
    spec: Spec
    run_token: str | None

    @property
    def identity(self) -> str:
        return self.key.rpartition("-")[0]

    @property
    def generation(self) -> int:
        return int(self.key.rpartition("-")[2])


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
    `begun`: the identities of creations of which the state has no end.
    """

    run: Run | None = None
    record: Record | None = None
    jobs: tuple[Job, ...] = ()
    released: str | None = None
    begun: frozenset[str] = frozenset()

    def job(self, name: str) -> Job | None:
        return next((job for job in self.jobs if job.name == name), None)

    @property
    def left_behind(self) -> tuple[Job, ...]:
        """The jobs that no state has because a deployment was killed, the oldest first."""
        return tuple(job for job in self.jobs if job.name != self.released and self._was_left(job))

    def _was_left(self, job: Job) -> bool:
        if self.run is not None and job.identity == self.run.identity:
            return job.generation > self.run.generation
        return not job.state.has_ended or (self.run is None and job.identity in self.begun)

    @property
    def recorded_job(self) -> Job | None:
        return self.job(self.record.job) if self.record else None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The effect of a command on a declaration.

    `submits`: how many jobs. `asked_for`: the user requested the run, so no answer of the service changes it.
    `new_key`: a new run is recorded. `removes`: the job that is removed. `reruns`: the count afterwards, None
    if it is not checked.
    `undecided`: the number of jobs is not checked. So it is with `never`, set after a deployment was killed
    between deleting a job and submitting the next one: whether that run is still due is not specified.
    """

    decision: Decision
    submits: int = 0
    asked_for: bool = False
    new_key: bool = False
    removes: str | None = None
    keeps_record: bool = False
    reruns: int | None = 0
    spec: Spec | None = None
    undecided: bool = False
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of Pulumi, with `--refresh` and `--replace` if those are true."""

    verb: Literal["up", "refresh", "destroy"] = "up"
    refresh: bool = False
    replace: bool = False


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
    if world.record is not None:
        job = world.recorded_job
        if world.record.stopped and (job is None or job.state in (JobState.CANCELLED, JobState.CANCELLING)):
            return RunState.GONE
        return world.record.ended or (job.state if job else RunState.GONE)
    return RunState.GONE


def refreshed(world: World) -> World:
    """Return the world after `pulumi refresh`: it records ends and drops lost jobs without one."""
    record, job = world.record, world.recorded_job
    if record is None:
        return world
    if job is None:
        stays = record.ended is not None or record.rerun == "never"
        return world if stays else replace(world, record=None, run=None)
    return replace(world, record=replace(record, ended=job.state if job.state.has_ended else None))


def removal(world: World) -> Forecast:
    """Forecast the removal of the declaration, which depends on the record."""
    job, record = world.recorded_job, world.record
    if record is not None and job is not None and job.state is JobState.LIVE and record.protect_running:
        return Forecast(decision=Decision.REFUSE, why="protected while live")
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
    if run is None or world.record is None:
        return _of_unfinished(declared, world)
    changed = run.spec != declared.spec or (run.run_token or None) != (declared.run_token or None)
    last_run = last_run_state(world)
    decision, why = decide(declared, last_run, changed=changed, reruns=run.reruns, on_demand=on_demand)
    if decision is not Decision.RUN:
        return Forecast(decision=decision, reruns=run.reruns, spec=run.spec, why=why)
    # If the rules alone decide for a run, with or without --replace, it is counted.
    by_itself, own_why = decide(declared, last_run, changed=changed, reruns=run.reruns)
    counted = not on_demand and by_itself is Decision.RUN
    reruns = run.reruns + 1 if counted and own_why == "failed" else None if own_why == "gone" else 0
    return Forecast(
        decision=decision,
        submits=1,
        asked_for=changed or on_demand,
        new_key=True,
        removes=world.record.job,
        keeps_record=True,
        reruns=reruns,
        spec=declared.spec,
        why=why,
    )


def _of_unfinished(declared: Declared, world: World) -> Forecast:
    """Forecast a deployment of a declaration without a job in the state: new, or interrupted.

    The newest job that was left behind is adopted if it has the declared spec, and nobody cancelled it.
    """
    fitting = [
        job
        for job in world.left_behind
        if (job.spec == declared.spec or declared.rerun == "never")
        and job.state not in (JobState.CANCELLED, JobState.CANCELLING)
    ]
    return Forecast(
        decision=Decision.RUN,
        submits=0 if fitting else 1,
        asked_for=True,
        new_key=True,
        reruns=None if world.run or fitting else 0,
        spec=fitting[-1].spec if fitting else declared.spec,
        undecided=declared.rerun == "never" and world.run is not None,
        why=f"interrupted; {len(world.left_behind)} jobs were left behind"
        if world.run or world.jobs
        else "first run",
    )
