"""The status of a declaration: what changed in it, and the state of its last run."""

from __future__ import annotations

import enum


class Change(enum.Enum):
    """The change between the recorded declaration and the present one; the first that applies counts."""

    SPEC_UNKNOWN = "its spec depends on something that this deployment changes"
    SPEC = "its spec changed"
    RUN_TOKEN = "its run_token changed"  # noqa: S105  a sentence
    RECORD = "only its record changed"
    NOTHING = "nothing changed"


class LastRun(enum.Enum):
    """The state of the last run.

    NONE: no job was submitted for the declaration, as far as is recorded. GONE: the job was deleted outside
    of Pulumi, and no end of it is recorded. STOPPED: a deployment was interrupted after it had cancelled the
    job to delete it. TIMED_OUT: the service cancelled the job at its timeout. SPENT: it has ended, and its
    runs have used up `max_cost`. NO_CAPACITY: it has a capacity ladder, and ended without ever having had
    machines. NOT_KNOWN: the service does not answer, and the run had not ended when it last did.
    """

    NONE = "it has not run yet"
    QUEUED = "it is queued"
    PENDING = "it is pending"
    RUNNING = "it is running"
    PAUSED = "it is paused"
    CANCELLING = "it is being cancelled"
    SUCCEEDED = "it succeeded"
    FAILED = "it failed"
    EXPIRED = "it expired"
    TIMED_OUT = "it reached its timeout"
    CANCELLED = "it was cancelled"
    GONE = "it was deleted"
    STOPPED = "an interrupted deployment cancelled it"
    SPENT = "its runs have used up max_cost"
    NO_CAPACITY = "it found no machines"
    NOT_KNOWN = "its state is not known"


class LookupResult(enum.Enum):
    """The result of a lookup that found no state."""

    ABSENT = "the service is certain that no such job exists"
    NO_ANSWER = "the service did not answer, or was not queried"


RECORD_CHANGES = frozenset({Change.NOTHING, Change.RECORD})
RERUN_CHANGES = frozenset(Change) - RECORD_CHANGES
"""Changes that ask for a run."""

LIVE = frozenset({LastRun.QUEUED, LastRun.PENDING, LastRun.RUNNING, LastRun.PAUSED})
"""The states that `protect_running` protects. A run that is being cancelled has been given up already."""

FAILURES = frozenset({LastRun.FAILED, LastRun.EXPIRED, LastRun.TIMED_OUT})
ENDED = FAILURES | {LastRun.SUCCEEDED, LastRun.CANCELLED, LastRun.SPENT, LastRun.NO_CAPACITY}
STARTED = frozenset(LastRun) - {LastRun.NONE}


def change_of(
    *,
    recorded: tuple[str | None, str | None],
    declared: tuple[str | None, str | None],
    record_changed: bool = False,
) -> Change:
    """Return the change between two pairs of a spec's hash and a run_token.

    A declared hash of None is not known yet. No run_token and an empty one are the same.
    """
    if declared[0] is None:
        return Change.SPEC_UNKNOWN
    if recorded[0] != declared[0]:
        return Change.SPEC
    if (recorded[1] or None) != (declared[1] or None):
        return Change.RUN_TOKEN
    return Change.RECORD if record_changed else Change.NOTHING


_AS_ANOTHER = {"UPDATING": LastRun.RUNNING, "PARTIALLY_SUCCEEDED": LastRun.SUCCEEDED}
_OF_SERVICE: dict[str, LastRun] = {
    **{item.name: item for item in LIVE | ENDED | {LastRun.CANCELLING}},
    **_AS_ANOTHER,
}


def last_run(recorded: str | None, seen: str | LookupResult) -> LastRun:
    """Return the state of the last run, by the recorded state (None: no job) and a lookup.

    States are the service's, such as JOB_STATE_RUNNING or PIPELINE_STATE_RUNNING; one that this version does
    not know is NOT_KNOWN. A recorded end is final: the lookup may be left out, and deleting a record after
    the end changes nothing.
    """
    known = None if recorded is None else _state(recorded)
    if known in ENDED:
        return known
    if isinstance(seen, str):
        return _state(seen)
    if known is None:
        return LastRun.NONE
    return LastRun.GONE if seen is LookupResult.ABSENT else LastRun.NOT_KNOWN


def _state(name: str) -> LastRun:
    return _OF_SERVICE.get(name.rpartition("STATE_")[2], LastRun.NOT_KNOWN)
