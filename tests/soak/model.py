"""What must hold of a declaration, whatever happens to it.

It knows the declaration, what Pulumi's state and the service held of it before a command, and says how often
a job is submitted, what becomes of the one before, and what is refused. It shares no code with `lifecycle`.
`test_soak_model.py` has the rules for it, written out, and holds both to them. What happens after an
interruption (`_of_unfinished`) is in no such rule: there it is a second opinion by the same authors.
Pure: no engine, no clock, no randomness.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Literal


class Fate(enum.Enum):
    """How a job stands with the service."""

    LIVE = "live"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self not in (Fate.LIVE, Fate.CANCELLING)


class Stands(enum.Enum):
    """How the last run of a declaration stands, where it is not a fate."""

    NONE = "none yet"
    GONE = "gone"


class Verdict(enum.Enum):
    RUN = "runs"
    STAY = "stays"
    REFUSE = "refused"


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a run is asked to be: a program that succeeds, fails, or runs until it is told to stop."""

    program: Literal["succeeds", "fails", "runs"]
    salt: int


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One declaration as the program has it. `names`: the present name, then all that it had before."""

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
    """A job of the declaration, as the service has it. `key`: of the run that it carries as a label."""

    name: str
    key: str
    spec: Spec
    fate: Fate
    created: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the state says of the present run, and for what declaration it was issued."""

    key: str
    reruns: int
    spec: Spec
    run_token: str | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """What the state says of the job. `ended`: the end that it has on record, None before."""

    job: str
    run: str
    ended: Fate | None
    rerun: str
    protect_running: bool
    on_delete: str


@dataclass(frozen=True, kw_only=True)
class World:
    """One declaration between two commands. `jobs`: the oldest first; `released`: of a replacement that was
    begun and not finished, the job that it took away."""

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
        """Whether the job on record is that of the run on record."""
        return self.run is not None and self.record is not None and self.record.run == self.run.key


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a command does to a declaration.

    `submits`: how many jobs. `asked_for`: a person asked for the run, so no answer of the service changes
    it. `new_key`: a new run is recorded. `removes`: the job that is taken away. `reruns`: on record
    afterwards. `says`: what the output must say, with {name}. `undecided`: the number is not held against it.
    """

    verdict: Verdict
    submits: int = 0
    asked_for: bool = False
    new_key: bool = False
    removes: str | None = None
    keeps_record: bool = False
    reruns: int = 0
    spec: Spec | None = None
    says: str | None = None
    undecided: bool = False
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of Pulumi; `replace` and `target` are declarations, `target` None for all of them."""

    verb: Literal["up", "preview", "refresh", "destroy"]
    refresh: bool = False
    replace: frozenset[str] = field(default_factory=frozenset)
    target: frozenset[str] | None = None


def judge(
    declared: Declared, stands: Fate | Stands, *, changed: bool, reruns: int = 0, on_demand: bool = False
) -> tuple[Verdict, str]:
    """The rules of reruns, in the order in which a reader would ask; and why."""
    live = stands is Fate.LIVE
    if stands is Stands.NONE:
        return Verdict.RUN, "it has not run yet"
    if on_demand and declared.rerun == "never":
        return Verdict.REFUSE, "never, also when told to"
    if changed and declared.rerun == "never":
        return Verdict.STAY, "changed, but never"
    if (on_demand or changed) and live and declared.protect_running:
        return Verdict.REFUSE, "protected while live"
    if on_demand or changed:
        return Verdict.RUN, "told to" if on_demand else "changed"
    if live or stands is Fate.CANCELLING:
        return Verdict.STAY, "not ended"
    if declared.rerun == "never":
        return Verdict.STAY, "never"
    if stands is Stands.GONE:
        return Verdict.RUN, "gone"
    if declared.rerun == "always":
        return Verdict.RUN, "always"
    if stands is Fate.FAILED and declared.rerun == "on_failure":
        return (Verdict.RUN, "failed") if reruns < declared.rerun_limit else (Verdict.STAY, "limit")
    return Verdict.STAY, "a steady state"


def standing(world: World) -> Fate | Stands:
    """How the last run stands: what is recorded as ended stays so; a run without a record is looked for."""
    if world.run is None:
        return Stands.NONE
    if world.is_current and world.record is not None:
        job = world.recorded_job
        return world.record.ended or (job.fate if job else Stands.GONE)
    mine = world.of_key(world.run.key)
    return mine[-1].fate if mine else Stands.NONE


def refreshed(world: World) -> World:
    """After `pulumi refresh`: ends are on record; a job that is gone is dropped unless its end was seen."""
    record, job = world.record, world.recorded_job
    if record is None:
        return world
    if job is None:
        stays = record.ended is not None or record.rerun == "never"
        return world if stays else replace(world, record=None)
    return replace(world, record=replace(record, ended=job.fate if job.fate.has_ended else None))


def removal(world: World) -> Forecast:
    """What taking the declaration away does: by what is on record."""
    job, record = world.recorded_job, world.record
    if record is not None and job is not None and job.fate is Fate.LIVE and record.protect_running:
        return Forecast(verdict=Verdict.REFUSE, says="{name} cannot be destroyed", why="protected while live")
    return Forecast(
        verdict=Verdict.STAY,
        removes=job.name if job else None,
        keeps_record=record is not None and record.on_delete == "cancel",
        why="taken away",
    )


def deployment(declared: Declared | None, world: World, *, on_demand: bool = False) -> Forecast:
    """What `pulumi up` does about the declaration; None is one that the program does not have."""
    if declared is None:
        return removal(world)
    run = world.run
    if run is None:
        return Forecast(
            verdict=Verdict.RUN,
            submits=1,
            asked_for=True,
            new_key=True,
            spec=declared.spec,
            removes=world.record.job if world.record else None,
            why="first run",
        )
    changed = run.spec != declared.spec or (run.run_token or None) != (declared.run_token or None)
    stands = standing(world)
    verdict, why = judge(declared, stands, changed=changed, reruns=run.reruns, on_demand=on_demand)
    if world.is_current or verdict is Verdict.REFUSE:
        return _of_current(declared, world, stands, verdict, why, changed=changed, on_demand=on_demand)
    return _of_unfinished(declared, world, verdict, why, changed=changed)


def clouded(declared: Declared | None, world: World) -> str | None:
    """The defect in `DEFECTS` that may decide instead of the rules; None where none does."""
    if declared is None or world.run is None:
        return None
    changed = (world.run.spec, world.run.run_token or None) != (declared.spec, declared.run_token or None)
    return "never" if declared.rerun == "never" and changed and not world.is_current else None


def _of_current(
    declared: Declared,
    world: World,
    stands: Fate | Stands,
    verdict: Verdict,
    why: str,
    *,
    changed: bool,
    on_demand: bool,
) -> Forecast:
    """Where state and run agree: nothing was interrupted."""
    run = world.run
    assert run is not None
    if verdict is Verdict.REFUSE:
        return Forecast(verdict=verdict, reruns=run.reruns, says="{name} cannot be replaced", why=why)
    if verdict is Verdict.STAY:
        told = changed or isinstance(stands, Stands) or stands in (Fate.FAILED, Fate.CANCELLED)
        told = told or stands is Fate.CANCELLING
        says = "{name} stays: " if told else None
        return Forecast(verdict=verdict, reruns=run.reruns, spec=run.spec, says=says, why=why)
    record = world.record
    # By itself, whoever else told it to: then the run is counted, and another key is issued for it.
    by_itself, own_why = judge(declared, stands, changed=changed, reruns=run.reruns)
    absent = world.recorded_job is None
    new_key = by_itself is Verdict.RUN and not (not changed and absent)
    reruns = run.reruns if not new_key else run.reruns + 1 if own_why == "failed" else 0
    return Forecast(
        verdict=verdict,
        submits=1,
        asked_for=changed or on_demand,
        new_key=new_key,
        removes=record.job if record else None,
        keeps_record=record is not None and record.on_delete == "cancel",
        reruns=reruns,
        spec=declared.spec,
        says="{name} will run" if by_itself is Verdict.RUN and not on_demand else None,
        why=why,
    )


def _of_unfinished(
    declared: Declared, world: World, verdict: Verdict, why: str, *, changed: bool
) -> Forecast:
    """Where a deployment was interrupted: the run is on record, its job is not, or it is the one before."""
    run, old = world.run, world.recorded_job
    assert run is not None
    mine = world.of_key(run.key)
    stands = standing(world)
    if old is not None and old.fate is Fate.LIVE and declared.protect_running:
        return Forecast(verdict=Verdict.REFUSE, reruns=run.reruns, says="{name} cannot be replaced", why=why)
    replaced = Forecast(
        verdict=Verdict.RUN,
        removes=old.name if old else None,
        keeps_record=world.record is not None and world.record.on_delete == "cancel",
        undecided=world.record is not None and declared.rerun == "never",
        why=f"interrupted; {why}",
    )
    if verdict is Verdict.STAY or (verdict is Verdict.RUN and stands is Stands.NONE and not changed):
        # A job that was cancelled before anybody recorded it is given up: the run is still to be had.
        joined = any(job.fate not in (Fate.CANCELLED, Fate.CANCELLING) for job in mine)
        return replace(replaced, submits=0 if joined else 1, reruns=run.reruns, spec=run.spec, asked_for=True)
    reruns = run.reruns + 1 if why == "failed" else 0
    return replace(replaced, submits=1, new_key=True, asked_for=changed, reruns=reruns, spec=declared.spec)
