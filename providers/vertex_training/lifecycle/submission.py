"""Find the job of a run, or submit it: at most one live job for a key, whoever is killed and whenever."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import Unavailable
from vertex_training.lifecycle import identity
from vertex_training.lifecycle.kinds import Kind

GIVEN_UP = frozenset({"JOB_STATE_CANCELLED", "JOB_STATE_CANCELLING"})


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One run to be had.

    `issued_here`: this very process made the key, so nothing can have been submitted under it before.
    `released`: names of jobs that this process has diffed or deleted; a create that follows replaces them,
    and must not adopt them again.
    `settle`: seconds for which the service's lists may lag behind a submission of a killed process.
    """

    key: str
    spec_hash: str
    issued_here: bool
    released: Container[str] = frozenset()
    settle: float = 0.0
    poll: float = 0.5


def find_or_submit(
    kind: Kind,
    endpoint: Endpoint,
    wire: Mapping[str, Any],
    submission: Submission,
    *,
    before_submit: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Any, bool]:
    """The run's record, and whether it was adopted rather than submitted now.

    `before_submit` is called right before the only call that costs money; it raises to stop it, for example
    because the deployment that asked for the run is no longer there.
    """
    if not submission.issued_here:
        until = clock() + submission.settle
        while True:
            found = _adoptable(kind, endpoint, submission)
            if found is not None:
                return found, True
            if clock() >= until:
                break
            sleep(submission.poll)
    before_submit()
    marks = identity.labels(submission.key, submission.spec_hash)
    try:
        return kind.create(endpoint, {**wire, "labels": {**wire.get("labels", {}), **marks}}), False
    except Unavailable:
        # The answer was lost, perhaps after the job was made: only the list can tell.
        found = _adoptable(kind, endpoint, submission)
        if found is None:
            raise
        return found, True


def _adoptable(kind: Kind, endpoint: Endpoint, submission: Submission) -> Any | None:
    """The newest job of this key and spec that nobody has given up."""
    candidates = [
        record
        for record in kind.find(endpoint, {identity.RUN_LABEL: submission.key})
        if record.labels.get(identity.SPEC_LABEL) == submission.spec_hash
        and record.name not in submission.released
        and record.state.name not in GIVEN_UP
    ]
    return max(candidates, key=lambda record: record.create_time or "", default=None)
