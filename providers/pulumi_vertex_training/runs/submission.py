"""Find the job of a run, or submit it: at most one live job for a key, whichever process is killed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.deletion import delete_orphaned_runs
from pulumi_vertex_training.runs.gateway import RunGateway
from vertex_emulator.kernel import machine_clock

CANCELLED_STATES = frozenset({"JOB_STATE_CANCELLED", "JOB_STATE_CANCELLING"})


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One run to find or submit.

    `issued_here`: this very process made the key, so nothing can have been submitted under it before.
    `released`: names of jobs that this process has compared or deleted; a create that follows replaces them,
    and must not adopt them. `recorded`: the generation whose job the state had before this deployment, 0
    without one. `keep_record`: whether the record of a job that was left behind is kept. `any_spec`: whether
    a job of this key is adopted whatever its spec, as for a declaration that runs only once. `reason`: the
    code of the reason for the run, "" if it is not known. `settle`: seconds for which the service's lists
    may lag behind a submission of a killed process.
    """

    key: str
    spec_hash: str
    issued_here: bool
    released: Collection[str] = frozenset()
    recorded: int = 0
    keep_record: bool = False
    any_spec: bool = False
    reason: str = ""
    settle: float = 0.0
    poll: float = 0.5


def find_or_submit(
    gateway: RunGateway,
    endpoint: Endpoint,
    wire: Mapping[str, Any],
    submission: Submission,
    *,
    before_submit: Callable[[], None],
    before_delete: Callable[[Endpoint, str], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> tuple[JobRecord, bool]:
    """Return the run's record, and whether the job was adopted rather than submitted now.

    `before_submit` is called right before the only call that costs money. It raises to stop the call, for
    example because the deployment is gone. A live job that an interrupted deployment has left behind is
    deleted first and reported through `tell`; `before_delete` is for `deletion.delete_run`.
    """
    key = identity.parse(submission.key)
    if not submission.issued_here or submission.recorded < key.generation - 1:
        found = _found_in_time(gateway, endpoint, submission, clock, sleep)
        delete_orphaned_runs(
            gateway,
            endpoint,
            key,
            recorded=submission.recorded,
            tell=tell,
            before_delete=before_delete,
            keep_record=submission.keep_record,
            keep={*submission.released, found.name if found else ""},
        )
        if found is not None:
            return found, True
    before_submit()
    marks = identity.labels(submission.key, submission.spec_hash, reason=submission.reason)
    try:
        sent = {**wire, "labels": {**wire.get("labels", {}), **marks}}
        if "displayName" in wire:
            sent["displayName"] = identity.with_number(wire["displayName"], submission.key)
        return gateway.create(endpoint, sent), False
    except Unavailable:
        # The answer was lost, perhaps after the job was created: only the list shows that, and it may lag.
        found = _found_in_time(
            gateway, endpoint, dataclasses.replace(submission, issued_here=False), clock, sleep
        )
        if found is None:
            raise
        return found, True


def _found_in_time(
    gateway: RunGateway,
    endpoint: Endpoint,
    submission: Submission,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> JobRecord | None:
    """Return the job to adopt, or None once the service's lists cannot lag any more."""
    until = clock() + submission.settle
    while True:
        found = None if submission.issued_here else _adoptable(gateway, endpoint, submission)
        if found is not None or clock() >= until:
            return found
        sleep(submission.poll)


def _adoptable(gateway: RunGateway, endpoint: Endpoint, submission: Submission) -> JobRecord | None:
    """Return the newest job of this key and spec that nobody has cancelled.

    If the state had a job of this very run, the job is to be created again: an ended one under its key does
    not count.
    """
    again = submission.recorded == identity.parse(submission.key).generation
    candidates = [
        record
        for record in gateway.list_by_label(endpoint, {identity.RUN_LABEL: submission.key})
        if (submission.any_spec or record.labels.get(identity.SPEC_LABEL) == submission.spec_hash)
        and record.name not in submission.released
        and record.state.name not in CANCELLED_STATES
        and not (again and record.state.is_terminal)
    ]
    return max(candidates, key=lambda record: record.create_time or "", default=None)
