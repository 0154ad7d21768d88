"""Climb a capacity ladder: submit a run on one rung after the other until there are machines for it.

An attempt is a run with a key of its own, and a label that names its rung. All attempts that no state has
are one pass, so the jobs themselves record which rungs were tried: the next deployment continues one that was
killed. A rung is left by reading the job, cancelling it, waiting until it has ended and reading it again;
only then the next rung is submitted. A job that has a start time or has succeeded stays
(docs/architecture/decisions/0017-capacity-ladder.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, ResourceExhausted
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs import deletion
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import RUNG_LABEL, SPEC_LABEL, RunKey
from pulumi_vertex_training.runs.monitoring.watching import CLOUD_PACE, LOCAL_PACE, Pace, is_transient
from pulumi_vertex_training.runs.submission import (
    CANCELLED_STATES,
    Submission,
    forget_attempts,
    run_of,
    submit,
    unused,
    was_cancelled,
)
from vertex_emulator import machine_clock
from vertex_training.fields.labels import MAX_LENGTH
from vertex_training.fields.resource_names import resource_id
from vertex_training.findings.words import duration
from vertex_training.job import capacity
from vertex_training.job.capacity import Answer

_SECONDS_BETWEEN_LINES = 30.0
_REFUSAL_PAUSE = Pace(first=0.5, most=15.0, factor=2.0)
"""Between two submissions of the same run that were refused for the rate of requests."""


class NoCapacityError(Exception):
    """The service refused the job on each rung, so there is no job. The message has the answers."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A rung to climb: what is submitted there, and how long the job waits for machines.

    `key` tells it apart from other rungs, `name` is the rung in messages, `of` the declaration on the rung,
    `places` all locations of the ladder if there are several.
    `seconds` is the longest wait, None without one. `wire` returns the request of a run of that declaration.
    """

    key: str
    position: int
    name: str
    endpoint: Endpoint
    seconds: float | None
    of: Any
    wire: Callable[[RunKey, Any], Mapping[str, Any]]
    places: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        text = f"{self.position}-{self.key}"
        for place in self.places:
            if len(text) + 1 + len(place) <= MAX_LENGTH:
                text += f"_{place}"
        return text


@dataclass(frozen=True, kw_only=True)
class Pause:
    """How a deployment waits: for `seconds` in all, until `sleep` returns True because it is interrupted."""

    seconds: float
    sleep: Callable[[float], bool]
    clock: Callable[[], float] = machine_clock.monotonic


@dataclass(frozen=True, kw_only=True)
class Climbed:
    """The end of a climb.

    `adopted`: an earlier deployment submitted the job. `tried` are the keys of the rungs of this pass, with
    the job's. `answers` has a line for each rung without capacity. `is_over` is true if no rung is left and
    none had capacity.
    """

    record: JobRecord
    adopted: bool
    tried: tuple[str, ...]
    answers: tuple[str, ...]
    is_over: bool = False


@dataclass(kw_only=True)
class Climb:
    """One pass over the rungs of a ladder."""

    gateway: RunGateway
    steps: Sequence[Step]
    submission: Submission
    pause: Pause
    before_submit: Callable[[RunKey, Any], None]
    before_send: Callable[[Mapping[str, Any], Any], None] = lambda *_: None
    before_delete: Callable[[Endpoint, str], None] | None
    tell: Callable[[str], None]
    _tried: dict[str, None] = field(init=False, default_factory=dict)
    _answers: list[str] = field(init=False, default_factory=list)
    _until: float = field(init=False, default=0.0)

    def run(self, left: Sequence[JobRecord], *, tried: Collection[str] = ()) -> Climbed:
        """Continue the pass of the jobs `left`, which no state has, or begin one.

        `tried` are the keys of rungs that the pass has left already. Raises NoCapacityError, and the errors
        of `deletion` and `cloud.errors`.
        """
        attempts = self._attempts(left)
        ours = {record.name for record in attempts}
        for record in (one for one in left if one.name not in ours):
            self._stop(record)
        if not attempts and self.steps:
            forget_attempts(self.gateway, self.steps[0].endpoint, left, self.submission, self.before_delete)
        self._tried = dict.fromkeys([*tried, *filter(None, map(rung_key_of, attempts))])
        self._until = self.pause.clock() + self.pause.seconds
        key = unused(self._first_key(attempts), left)
        last: JobRecord | None = None
        for at, record in enumerate(attempts):
            last, is_kept = self._tried_before(record, is_newest=record is attempts[-1])
            if is_kept:
                for later in attempts[at + 1 :]:
                    self._stop(later)
                return self._end(last, adopted=True)
        adopted = last is not None
        for step in self.steps:
            if step.key in self._tried:
                continue
            self._tried[step.key] = None
            found = self._submitted(step, key)
            if found is None:
                continue
            (last, adopted), key = found, key.next()
            last, is_kept = self._waited(step, last)
            if is_kept:
                return self._end(last, adopted=adopted)
        if last is None:
            listed = "".join(f"\n  {line}" for line in self._answers)
            raise NoCapacityError(f"no rung of its capacity ladder accepted the job:{listed}")
        return self._end(last, adopted=adopted, is_over=True)

    def _end(self, record: JobRecord, *, adopted: bool, is_over: bool = False) -> Climbed:
        return Climbed(
            record=record,
            adopted=adopted,
            tried=tuple(self._tried),
            answers=tuple(self._answers),
            is_over=is_over,
        )

    def _attempts(self, left: Sequence[JobRecord]) -> list[JobRecord]:
        """Return the attempts of the pass to continue, oldest first; all have the identity of the newest.

        A run that had machines and was cancelled since ended a pass: later attempts are another one.
        """
        wanted = [
            record
            for record in left
            if run_of(record) is not None
            and (self.submission.any_spec or record.labels.get(SPEC_LABEL) == self.submission.spec_hash)
        ]
        if not wanted:
            return []
        newest = run_of(max(wanted, key=lambda record: record.create_time or ""))
        runs = {record.name: run_of(record) for record in wanted}
        same = [
            one for one in wanted if (run := runs[one.name]) and newest and run.identity == newest.identity
        ]
        found = sorted(same, key=_generation)
        ends = [at for at, one in enumerate(found) if one.start_time and was_cancelled(one)]
        return found[ends[-1] + 1 :] if ends else found

    def _first_key(self, attempts: Sequence[JobRecord]) -> RunKey:
        """Return the key to begin with: a killed first deployment drew another identity than this one."""
        run = run_of(attempts[-1]) if attempts else None
        return run.next() if run is not None else self.submission.key

    def _tried_before(self, record: JobRecord, *, is_newest: bool) -> tuple[JobRecord, bool]:
        """Return the record of an attempt of a killed deployment, and whether it stays."""
        key = rung_key_of(record)
        step = next((each for each in self.steps if each.key == key), None)
        name = step.name if step else f"a rung that is not declared any more ({resource_id(record.name)})"
        if record.state.is_terminal:
            is_kept = is_newest and not (had_no_capacity(record) or was_cancelled(record))
            if not (is_kept or stays(record)):
                self._note(name, answer_of(record))
            return record, is_kept
        if stays(record):
            return record, True
        if not is_newest or step is None or record.state is JobState.JOB_STATE_CANCELLING:
            return self._left(name, record, "it was given up")
        self.tell(f"continues with {self.gateway.noun} {resource_id(record.name)} on {step.name}")
        return self._waited(step, record)

    def _submitted(self, step: Step, key: RunKey) -> tuple[JobRecord, bool] | None:
        """Submit a run on a rung. Return None if the service refuses it for lack of quota."""
        self.tell(f"tries {step.name}")
        submission = dataclasses.replace(
            self.submission, labels={**self.submission.labels, RUNG_LABEL: step.label}
        )
        pauses, until = _REFUSAL_PAUSE.delays(), self.pause.clock() + _retry_seconds(step.endpoint)
        while True:
            try:
                return submit(
                    self.gateway,
                    step.endpoint,
                    lambda run: step.wire(run, step.of),
                    submission,
                    key,
                    before_submit=lambda run: self.before_submit(run, step.of),
                    before_send=lambda sent: self.before_send(sent, step.of),
                )
            except ResourceExhausted as error:
                words = error.own_words or str(error)
                answer = capacity.of_refusal(error.code or 0, words)
                if answer is Answer.NO_CAPACITY:
                    self._note(step.name, f"refused: {words}")
                    return None
                if self.pause.clock() >= until or self.pause.sleep(next(pauses)):
                    raise

    def _waited(self, step: Step, record: JobRecord) -> tuple[JobRecord, bool]:
        """Wait for machines. Return the record, and whether it stays, as it does when the deployment ends."""
        begun = said = self.pause.clock()
        endpoint = step.endpoint
        delays = (LOCAL_PACE if endpoint.is_emulator else CLOUD_PACE).delays()
        while True:
            if stays(record):
                return record, True
            if record.state.is_terminal:
                if not had_no_capacity(record):
                    return record, True  # somebody else cancelled it, or the words are not known
                self._note(step.name, answer_of(record))
                return record, False
            now = self.pause.clock()
            if step.seconds is not None and now - begun >= step.seconds:
                return self._left(step.name, record, f"it waited for {duration(step.seconds)}")
            if now >= self._until:
                return record, True
            if now - said >= _SECONDS_BETWEEN_LINES:
                said = now
                self.tell(f"{record.state.word} for {duration(now - begun)} on {step.name}")
            ends = [self._until, *([] if step.seconds is None else [begun + step.seconds])]
            if self.pause.sleep(max(0.0, min(next(delays), min(ends) - now))):
                return record, True
            record = self._read(endpoint, record)

    def _read(self, endpoint: Endpoint, record: JobRecord) -> JobRecord:
        """Return the record as it is now, or the last one if the service does not answer."""
        try:
            return self.gateway.get(endpoint, record.name)
        except CloudError as error:
            if not is_transient(error):
                raise
            return record

    def _left(self, name: str, record: JobRecord, why: str) -> tuple[JobRecord, bool]:
        """Cancel a job that has no machines. Return its last record, and whether it got some meanwhile."""
        endpoint = self._endpoint_of(record)
        record = self.gateway.get(endpoint, record.name)
        if stays(record):
            return record, True
        if not record.state.is_terminal:
            self.tell(f"leaves {name}: {why}")
            deletion.cancel(self.gateway, endpoint, record.name)
            record = deletion.until_ended(
                self.gateway, endpoint, record.name, endpoint.timeouts.job_end, tell=self.tell
            )
        if stays(record):
            self.tell(
                f"{self.gateway.noun} {resource_id(record.name)} started while it was cancelled, so it stays"
            )
            return record, True
        self._note(name, answer_of(record) if had_no_capacity(record) else why)
        return record, False

    def _stop(self, record: JobRecord) -> None:
        deletion.stop_orphans(
            self.gateway,
            self._endpoint_of(record),
            [record],
            tell=self.tell,
            before_delete=self.before_delete,
            keep_record=self.submission.keep_record,
        )

    def _endpoint_of(self, record: JobRecord) -> Endpoint:
        return self.steps[0].endpoint.of(record.name)

    def _note(self, name: str, words: str) -> None:
        self._answers.append(f"{name}: {words}")
        self.tell(f"no capacity on {name}: {words}")


def stays(record: JobRecord) -> bool:
    """Return whether a job has had machines, so that no other rung may be tried."""
    return bool(record.start_time) or record.state in _SUCCESSES


_SUCCESSES = (JobState.JOB_STATE_SUCCEEDED, JobState.JOB_STATE_PARTIALLY_SUCCEEDED)


def had_no_capacity(record: JobRecord) -> bool:
    """Return whether a job failed because there were no machines or no quota for it."""
    return capacity.of_job(record.wire) is Answer.NO_CAPACITY


def answer_of(record: JobRecord) -> str:
    """Return the words with which a job ended that had no machines."""
    if record.error is not None and record.error.message:
        return record.error.message
    return "it was given up" if record.state.name in CANCELLED_STATES else f"it is {record.state.word}"


def rung_key_of(record: JobRecord) -> str:
    """Return the key of the rung that a job's label names, "" without one."""
    return record.labels.get(RUNG_LABEL, "").partition("-")[2].partition("_")[0]


def places_of(record: JobRecord) -> list[str]:
    """Return the locations in which attempts of the same ladder may be, [] without a ladder in several."""
    return record.labels.get(RUNG_LABEL, "").split("_")[1:]


def _generation(record: JobRecord) -> int:
    run = run_of(record)
    return run.generation if run else 0


def _retry_seconds(endpoint: Endpoint) -> float:
    return endpoint.timeouts.retry_emulator if endpoint.is_emulator else endpoint.timeouts.retry_google
