"""Delete a run by the plan of `deletion_policy`: cancel it, wait until it has ended, delete its record."""

from __future__ import annotations

import time
from collections.abc import Callable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound
from pulumi_vertex_training.runs.deletion_policy import OnDelete, Step, plan
from pulumi_vertex_training.runs.kinds import Kind
from pulumi_vertex_training.runs.run_status import last_run
from vertex_training.fields.resource_names import resource_id

WAIT_SECONDS = 300.0
PROGRESS_SECONDS = 15.0
"""A wait that is longer says so, this often."""


class StillRunningError(Exception):
    """The run had not ended within the time given; the next delete goes on where this one stopped."""


class ProtectedError(Exception):
    """The run is live and protected; nothing was done to it."""


def delete_run(
    kind: Kind,
    endpoint: Endpoint,
    name: str,
    *,
    label: str,
    tell: Callable[[str], None],
    before_delete: Callable[[Endpoint, str], None] | None = None,
    on_delete: OnDelete = OnDelete.DELETE,
    protect_running: bool = False,
    wait: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return when all steps of the plan are done, also when the record was gone before.

    `label`: what the user calls the run. `before_delete` is called right before the record is deleted.
    Raises `ProtectedError` before anything is done, and `StillRunningError` when the run has not ended after
    `wait` seconds.
    """
    try:
        record = kind.get(endpoint, name)
        stands = last_run(record.state.name, record.state.name)
        steps = plan(stands, on_delete=on_delete, protect_running=protect_running)
        if steps.refused:
            raise ProtectedError(steps.sentence(label))
        if Step.CANCEL in steps.steps:
            tell(f"cancelling {kind.noun} {resource_id(name)}, which is {_state(record)}")
            _cancel(kind, endpoint, name)
        if Step.WAIT in steps.steps:
            _until_ended(kind, endpoint, name, tell=tell, wait=wait, clock=clock, sleep=sleep)
        if Step.DELETE in steps.steps:
            if before_delete is not None:
                before_delete(endpoint, name)
            kind.delete(endpoint, name)
        elif on_delete is OnDelete.CANCEL:
            tell(f"the record of {kind.noun} {resource_id(name)} stays, because on_delete is cancel")
    except NotFound:
        return


def _cancel(kind: Kind, endpoint: Endpoint, name: str) -> None:
    try:
        kind.cancel(endpoint, name)
    except FailedPrecondition:
        # It ended between the two calls: the wait that follows sees it at once.
        return


def _until_ended(
    kind: Kind,
    endpoint: Endpoint,
    name: str,
    *,
    tell: Callable[[str], None],
    wait: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    began = clock()
    deadline, told = began + wait, began
    pause = 0.1
    while True:
        record = kind.get(endpoint, name)
        if record.state.is_terminal:
            return
        if clock() >= deadline:
            raise StillRunningError(
                f"{kind.noun} {resource_id(name)} is {_state(record)}, {wait:g} s after it was told to stop. "
                "Run the same command again: it goes on waiting and deletes the job when it has ended."
            )
        if clock() - told >= PROGRESS_SECONDS:
            told = clock()
            since = f"{told - began:.0f} s after it was told to stop"
            tell(f"{kind.noun} {resource_id(name)} is still {_state(record)}, {since}")
        sleep(pause)
        pause = min(pause * 1.5, 5.0)


def _state(record: object) -> str:
    return str(record.state.name).removeprefix("JOB_STATE_")  # type: ignore[attr-defined]
