"""Compare the results of a command with the model's forecast. Pure; each complaint is one sentence."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from soak.jobs.model import Decision, Declared, Forecast, JobState, World


class Ending(enum.Enum):
    """How a command ended: as expected, despite a kill or a fault, or without success."""

    CLEAN = "succeeded undisturbed"
    SURVIVED = "succeeded despite a disturbance"
    BROKEN = "did not succeed"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """A declaration before and after a command; `submitted` has the names of the new jobs."""

    before: World
    after: World
    submitted: frozenset[str]


def complaints(
    declared: Declared | None, forecast: Forecast, seen: Observed, ending: Ending
) -> Iterator[str]:
    """Yield the differences after an `up` or, with `declared` None, after a removal."""
    count = len(seen.submitted)
    exact = ending is Ending.CLEAN or (ending is Ending.SURVIVED and forecast.asked_for)
    if forecast.decision is Decision.REFUSE:
        yield from _untouched(seen, "was refused")
        return
    if count > forecast.submits + forecast.undecided:
        yield f"{count} jobs were submitted where {forecast.submits} are due ({forecast.why})"
    elif exact and count < forecast.submits and not forecast.undecided:
        yield f"no job was submitted where one is due ({forecast.why})"
    if not forecast.removes:
        yield from _kept(seen)
    yield from _key(forecast, seen, exact=exact and not forecast.undecided)
    if ending is Ending.BROKEN:
        return
    if declared is None:
        yield from _removed(forecast, seen)
    else:
        yield from _agrees(declared, forecast, seen, exact=exact)


def untouched(seen: Observed) -> Iterator[str]:
    """Yield the changes of a declaration that the command must not change."""
    yield from _untouched(seen, "must not change")


def _untouched(seen: Observed, why: str) -> Iterator[str]:
    if seen.submitted:
        yield f"{len(seen.submitted)} jobs were submitted for a declaration that {why}"
    yield from _kept(seen)
    if seen.before.run != seen.after.run:
        yield f"the run on record changed for a declaration that {why}: {seen.before.run} -> {seen.after.run}"


def _kept(seen: Observed) -> Iterator[str]:
    """Yield forbidden changes of a recorded job; a running job may end by itself."""
    for job in seen.before.jobs:
        after = seen.after.job(job.name)
        if seen.before.record is None or seen.before.record.job != job.name:
            continue
        if after is None:
            yield f"job {_short(job.name)} was deleted without a reason"
        elif after.state is not job.state and job.state.has_ended:
            yield f"job {_short(job.name)} was {job.state.value} and is {after.state.value}"
        elif after.state in (JobState.CANCELLED, JobState.CANCELLING) and job.state is JobState.LIVE:
            yield f"job {_short(job.name)} was cancelled without a reason"


def _key(forecast: Forecast, seen: Observed, *, exact: bool) -> Iterator[str]:
    before, after = seen.before.run, seen.after.run
    if before is None or after is None:
        return
    if before.key.rpartition("-")[0] != after.key.rpartition("-")[0]:
        yield f"the run's identity changed: {before.key} -> {after.key}"
    elif after.key != before.key and not forecast.new_key:
        yield f"a new run was recorded ({after.key}) where none is due ({forecast.why})"
    elif after.key == before.key and forecast.new_key and exact:
        yield f"no new run was recorded where one is due ({forecast.why})"
    if exact and forecast.reruns is not None and after.reruns != forecast.reruns:
        yield f"{after.reruns} reruns are on record, expected {forecast.reruns}"


def _agrees(declared: Declared, forecast: Forecast, seen: Observed, *, exact: bool) -> Iterator[str]:
    """Yield the disagreements of state and service after a deployment that succeeded."""
    after = seen.after
    run, record, job = after.run, after.record, after.recorded_job
    if run is None or record is None:
        yield f"the deployment succeeded, but the state has no {'run' if run is None else 'job'}"
        return
    if record.run != run.key:
        yield f"the job on record belongs to the run {record.run}, but the run on record is {run.key}"
    for name, want in (
        ("rerun", declared.rerun),
        ("protect_running", declared.protect_running),
        ("on_delete", declared.on_delete),
    ):
        if getattr(record, name) != want:
            yield f"{name} is {getattr(record, name)!r} on record, but declared as {want!r}"
    if job is None:
        if record.ended is None and not (declared.rerun == "never" and not forecast.submits):
            yield f"the job on record, {_short(record.job)}, does not exist, and its end is not recorded"
    else:
        if job.key != record.run:
            yield f"job {_short(job.name)} has the key {job.key}, but its record has {record.run}"
        if exact and forecast.spec is not None and job.spec != forecast.spec and not forecast.undecided:
            yield f"job {_short(job.name)} is {job.spec}, expected {forecast.spec}"
        if record.ended is not None and job.state is not record.ended:
            yield f"job {_short(job.name)} is {job.state.value}, but {record.ended.value} on record"
    if forecast.submits and seen.submitted and record.job not in seen.submitted:
        yield f"the job that was submitted is not the one on record, {_short(record.job)}"
    for other in after.jobs:
        if other.name != record.job and not other.state.has_ended:
            yield f"job {_short(other.name)} of run {other.key} is {other.state.value}, but not in the state"
    if exact and forecast.decision is Decision.RUN and forecast.removes != record.job:
        yield from _gone(forecast, seen)


def _removed(forecast: Forecast, seen: Observed) -> Iterator[str]:
    after = seen.after
    if after.run is not None or after.record is not None:
        yield "it was removed, but the state still has it"
    for job in after.jobs:
        if not job.state.has_ended:
            yield f"it was removed, but job {_short(job.name)} of run {job.key} is {job.state.value}"
    yield from _gone(forecast, seen)


def _gone(forecast: Forecast, seen: Observed) -> Iterator[str]:
    """Yield what is wrong with the replaced job, which is kept, or the removed one, by `on_delete`."""
    was = seen.before.job(forecast.removes) if forecast.removes else None
    if was is None:
        return
    left = seen.after.job(was.name)
    if forecast.keeps_record:
        want = was.state if was.state.has_ended else JobState.CANCELLED
        if left is None:
            yield f"the record of job {_short(was.name)} is gone, but must be kept"
        elif left.state is not want:
            yield f"job {_short(was.name)} is {left.state.value}, expected {want.value}"
    elif left is not None:
        yield f"job {_short(was.name)} was replaced, but its record still exists"


def _short(name: str) -> str:
    return name.rpartition("/")[2]
