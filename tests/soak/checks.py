"""Hold what a command left to what the model forecast of it. Pure; each complaint is one sentence."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from soak.model import Declared, Fate, Forecast, Verdict, World


class Ending(enum.Enum):
    """How a command ended: as it should, in spite of a kill or a fault, or without success."""

    CLEAN = "succeeded undisturbed"
    SURVIVED = "succeeded though disturbed"
    BROKEN = "did not succeed"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One declaration before and after a command; `submitted`: the names of the jobs that are new."""

    before: World
    after: World
    submitted: frozenset[str]


def complaints(declared: Declared | None, forecast: Forecast, seen: Seen, ending: Ending) -> Iterator[str]:
    """What is not as it must be after an `up` or, with `declared` None, after a removal."""
    count = len(seen.submitted)
    exact = ending is Ending.CLEAN or (ending is Ending.SURVIVED and forecast.asked_for)
    if forecast.verdict is Verdict.REFUSE:
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


def untouched(seen: Seen) -> Iterator[str]:
    """For what no command was to touch."""
    yield from _untouched(seen, "was not to be touched")


def _untouched(seen: Seen, why: str) -> Iterator[str]:
    if seen.submitted:
        yield f"{len(seen.submitted)} jobs were submitted for what {why}"
    yield from _kept(seen)
    if seen.before.run != seen.after.run:
        yield f"the run on record changed of what {why}: {seen.before.run} -> {seen.after.run}"


def _kept(seen: Seen) -> Iterator[str]:
    """Jobs that are none of this command's business stay as they are; one that runs may end by itself."""
    for job in seen.before.jobs:
        after = seen.after.job(job.name)
        if seen.before.record is None or seen.before.record.job != job.name:
            continue
        if after is None:
            yield f"job {_short(job.name)} was deleted, and nothing asked for it"
        elif after.fate is not job.fate and job.fate.has_ended:
            yield f"job {_short(job.name)} was {job.fate.value} and is {after.fate.value}"
        elif after.fate in (Fate.CANCELLED, Fate.CANCELLING) and job.fate is Fate.LIVE:
            yield f"job {_short(job.name)} was cancelled, and nothing asked for it"


def _key(forecast: Forecast, seen: Seen, *, exact: bool) -> Iterator[str]:
    before, after = seen.before.run, seen.after.run
    if before is None or after is None:
        return
    if before.key.rpartition("-")[0] != after.key.rpartition("-")[0]:
        yield f"the run's identity changed: {before.key} -> {after.key}"
    elif after.key != before.key and not forecast.new_key:
        yield f"a new run was recorded ({after.key}) where none is due ({forecast.why})"
    elif after.key == before.key and forecast.new_key and exact:
        yield f"no new run was recorded where one is due ({forecast.why})"
    if exact and after.reruns != forecast.reruns:
        yield f"{after.reruns} reruns are on record, and it should be {forecast.reruns}"


def _agrees(declared: Declared, forecast: Forecast, seen: Seen, *, exact: bool) -> Iterator[str]:
    """The state and the service, after a deployment that succeeded."""
    after = seen.after
    run, record, job = after.run, after.record, after.recorded_job
    if run is None or record is None:
        yield f"the deployment succeeded, and the state has no {'run' if run is None else 'job'}"
        return
    if record.run != run.key:
        yield f"the job on record is of the run {record.run}, and the run on record is {run.key}"
    for name, want in (
        ("rerun", declared.rerun),
        ("protect_running", declared.protect_running),
        ("on_delete", declared.on_delete),
    ):
        if getattr(record, name) != want:
            yield f"{name} is {getattr(record, name)!r} on record, and declared as {want!r}"
    if job is None:
        if record.ended is None and not (declared.rerun == "never" and not forecast.submits):
            yield f"the job on record, {_short(record.job)}, does not exist, and nobody has seen it end"
    else:
        if job.key != record.run:
            yield f"job {_short(job.name)} carries the key {job.key}, and its record says {record.run}"
        if exact and forecast.spec is not None and job.spec != forecast.spec and not forecast.undecided:
            yield f"job {_short(job.name)} is {job.spec}, and it should be {forecast.spec}"
        if record.ended is not None and job.fate is not record.ended:
            yield f"job {_short(job.name)} is {job.fate.value}, and {record.ended.value} on record"
    if forecast.submits and seen.submitted and record.job not in seen.submitted:
        yield f"the job that was submitted is not the one on record, {_short(record.job)}"
    for other in after.jobs:
        if other.name != record.job and not other.fate.has_ended:
            yield f"job {_short(other.name)} of run {other.key} is {other.fate.value}, and no state knows it"
    if exact and forecast.verdict is Verdict.RUN and forecast.removes != record.job:
        yield from _gone(forecast, seen)


def _removed(forecast: Forecast, seen: Seen) -> Iterator[str]:
    after = seen.after
    if after.run is not None or after.record is not None:
        yield "it was taken away, and the state still has it"
    for job in after.jobs:
        if not job.fate.has_ended:
            yield f"it was taken away, and job {_short(job.name)} of run {job.key} is {job.fate.value}"
    yield from _gone(forecast, seen)


def _gone(forecast: Forecast, seen: Seen) -> Iterator[str]:
    """The job that made room, and its record, as `on_delete` has it."""
    was = seen.before.job(forecast.removes) if forecast.removes else None
    if was is None:
        return
    left = seen.after.job(was.name)
    if forecast.keeps_record:
        want = was.fate if was.fate.has_ended else Fate.CANCELLED
        if left is None:
            yield f"the record of job {_short(was.name)} was to stay, and is gone"
        elif left.fate is not want:
            yield f"job {_short(was.name)} is {left.fate.value}, and it should be {want.value}"
    elif left is not None:
        yield f"job {_short(was.name)} made room, and its record is still there"


def _short(name: str) -> str:
    return name.rpartition("/")[2]
