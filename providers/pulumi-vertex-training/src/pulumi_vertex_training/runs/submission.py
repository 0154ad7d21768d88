"""Find the job of a run, or submit it: one live job for a declaration, whichever process is killed."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.deletion import delete_records, stop_orphans
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import RunKey
from pulumi_vertex_training.runs.monitoring.ends import timed_out
from vertex_emulator import machine_clock

CANCELLED_STATES = frozenset({"JOB_STATE_CANCELLED", "JOB_STATE_CANCELLING"})


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One run to find or submit.

    `key` is the run's, if no killed deployment has used it. `labels` are labels of the job besides
    those of its run. `keep_record`: whether the record of a job that was left behind is kept. `any_spec`:
    whether a job that was left behind is adopted whatever its spec, as for a declaration that runs only once.
    `reason`: the code of the reason for the run. `settle`: seconds for which the service's lists may lag
    behind a submission. `was_interrupted`: whether a killed process may have submitted the run just now.
    """

    key: RunKey
    spec_hash: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keep_record: bool = False
    any_spec: bool = False
    reason: str = ""
    settle: float = 0.0
    was_interrupted: bool = False
    poll: float = 0.5


def find_or_submit(
    gateway: RunGateway,
    endpoint: Endpoint,
    wire: Callable[[RunKey], Mapping[str, Any]],
    submission: Submission,
    *,
    left_behind: Callable[[], Sequence[JobRecord]],
    before_submit: Callable[[RunKey], None],
    before_send: Callable[[Mapping[str, Any]], None] = lambda _: None,
    before_delete: Callable[[Endpoint, str], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> tuple[JobRecord, bool]:
    """Return the run's record, and whether the job was adopted rather than submitted now.

    `wire` returns the request of a run. `left_behind` lists the jobs of the declaration that no state has,
    because the deployment that submitted them was killed. The one with the same spec is adopted; others that
    are live are stopped and deleted first, and reported through `tell`. `before_submit` is called right
    before the only call that costs money. It raises to stop the call, for example because the deployment is
    gone. `before_send` gets the whole request after that. `before_delete` is for `deletion.delete_run`.
    """
    seconds = submission.settle if submission.was_interrupted else 0.0
    left, found = _left_in_time(left_behind, submission, seconds, clock, sleep)
    stop_orphans(
        gateway,
        endpoint,
        [record for record in left if record is not found],
        tell=tell,
        before_delete=before_delete,
        keep_record=submission.keep_record,
    )
    forget_attempts(gateway, endpoint, left, submission, before_delete)
    if found is not None:
        return found, True
    key = unused(submission.key, left)
    return submit(
        gateway,
        endpoint,
        wire,
        submission,
        key,
        before_submit=before_submit,
        before_send=before_send,
        clock=clock,
        sleep=sleep,
    )


def submit(
    gateway: RunGateway,
    endpoint: Endpoint,
    wire: Callable[[RunKey], Mapping[str, Any]],
    submission: Submission,
    key: RunKey,
    *,
    before_submit: Callable[[RunKey], None],
    before_send: Callable[[Mapping[str, Any]], None] = lambda _: None,
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> tuple[JobRecord, bool]:
    """Submit the run `key`. Return its record, and whether it was found after its answer was lost."""
    before_submit(key)
    marks = identity.labels(str(key), submission.spec_hash, reason=submission.reason)
    request = wire(key)
    sent = {**request, "labels": {**request.get("labels", {}), **submission.labels, **marks}}
    if "displayName" in request:
        sent["displayName"] = identity.with_number(request["displayName"], str(key))
    before_send(sent)
    try:
        return gateway.create(endpoint, sent), False
    except Unavailable:
        # The answer was lost, perhaps after the job was created: only the list shows that, and it may lag.
        made = functools.partial(gateway.list_by_label, endpoint, {identity.RUN_LABEL: str(key)})
        _, found = _left_in_time(made, submission, submission.settle, clock, sleep)
        if found is None:
            raise
        return found, True


def settled(left_behind: Callable[[], Sequence[JobRecord]], submission: Submission) -> Sequence[JobRecord]:
    """Return the jobs that were left behind, once no list can lag behind a submission any more."""
    if submission.was_interrupted:
        machine_clock.sleep(submission.settle)
    return left_behind()


def without(records: Iterable[JobRecord], names: Collection[str]) -> list[JobRecord]:
    """Return the records whose full names are not among `names`."""
    return [record for record in records if record.name not in names]


def _left_in_time(
    left_behind: Callable[[], Sequence[JobRecord]],
    submission: Submission,
    seconds: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> tuple[Sequence[JobRecord], JobRecord | None]:
    """Return the jobs that were left behind, and the one to adopt; None once no list can lag any more."""
    until = clock() + seconds
    while True:
        left = left_behind()
        found = _adoptable(left, submission)
        if found is not None or clock() >= until:
            return left, found
        sleep(submission.poll)


def _adoptable(left: Iterable[JobRecord], submission: Submission) -> JobRecord | None:
    """Return the newest job of this spec that nobody has cancelled, and that was on no rung of a ladder."""
    candidates = [
        record
        for record in left
        if identity.RUNG_LABEL not in record.labels
        and (submission.any_spec or record.labels.get(identity.SPEC_LABEL) == submission.spec_hash)
        and not was_cancelled(record)
    ]
    return max(candidates, key=lambda record: record.create_time or "", default=None)


def forget_attempts(
    gateway: RunGateway,
    endpoint: Endpoint,
    left: Iterable[JobRecord],
    submission: Submission,
    before_delete: Callable[[Endpoint, str], None] | None,
) -> None:
    """Delete the records of attempts without machines that no later deletion of the declaration would find.

    A first deployment that was killed has an identity of its own.
    """
    found = [
        record
        for record in left
        if record.state.is_terminal
        and not record.start_time
        and identity.RUNG_LABEL in record.labels
        and (run := run_of(record)) is not None
        and run.identity != submission.key.identity
    ]
    if not submission.keep_record:
        delete_records(gateway, endpoint, found, before_delete=before_delete or (lambda *_: None))


def was_cancelled(record: JobRecord) -> bool:
    """Return whether somebody cancelled a job, rather than the service at its timeout."""
    return record.state.name in CANCELLED_STATES and not timed_out(record)


def unused(key: RunKey, left: Iterable[JobRecord]) -> RunKey:
    """Return the key, or the next one of the declaration that no job which was left behind has."""
    used = [run.generation for run in map(run_of, left) if run is not None and run.identity == key.identity]
    return dataclasses.replace(key, generation=max([key.generation, *(one + 1 for one in used)]))


def is_later(record: JobRecord, key: RunKey) -> bool:
    """Return whether a job is of a later run of the same declaration."""
    run = run_of(record)
    return run is not None and run.identity == key.identity and run.generation > key.generation


def run_of(record: JobRecord) -> RunKey | None:
    """Return the key of the run that a job's label names, None without such a label."""
    try:
        return identity.parse(record.labels.get(identity.RUN_LABEL, ""))
    except ValueError:
        return None
