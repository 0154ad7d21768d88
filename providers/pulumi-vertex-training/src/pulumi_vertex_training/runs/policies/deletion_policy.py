"""The table of the steps that delete a job whose resource is destroyed or replaced.

Pulumi asks no provider about a deletion before it is due, so a preview of `pulumi destroy` has no plan. The
plan is made when the deletion begins, before anything is cancelled.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pulumi_vertex_training.runs.policies.run_status import ENDED, LIVE, LastRun

DEFAULT_KEEP_RUNS = 10
"""The default number of earlier runs whose records are kept."""


class OnDelete(enum.Enum):
    """The declared `on_delete`: CANCEL keeps the job's record with the service, DELETE does not.

    Without a declared one the record is deleted, but not the model that a pipeline uploaded.
    """

    DELETE = "delete"
    CANCEL = "cancel"


class OnReplace(enum.Enum):
    """The declared `on_replace`: whether the record of a job that a new run replaces is kept."""

    KEEP = "keep"
    DELETE = "delete"


class Step(enum.Enum):
    """A call to the service, in words for the page; WAIT is for the run's end, for a bounded time."""

    CANCEL = "cancel"
    WAIT = "wait until it has ended"
    DELETE = "delete the record"


@dataclass(frozen=True, kw_only=True)
class DeletionRow:
    """One row of the table: the facts that it is for, and the steps. `because` is for the page."""

    name: str
    steps: tuple[Step, ...]
    reason: str
    because: str
    last_run: frozenset[LastRun]
    keep_record: bool | None = None
    protect_running: bool | None = None
    refused: bool = False

    def matches(self, run: LastRun, keep_record: bool, protect_running: bool) -> bool:
        return (
            run in self.last_run
            and self.keep_record in (None, keep_record)
            and self.protect_running in (None, protect_running)
        )


@dataclass(frozen=True, kw_only=True)
class DeletionPlan:
    """The steps in their order; none if there is nothing to do or the deletion is `refused`."""

    row: str
    steps: tuple[Step, ...]
    reason: str
    refused: bool = False

    def sentence(self, name: str) -> str:
        """Return the line for the user: `train: it is running; cancel, wait until it has ended`."""
        if self.refused:
            return f"{name} cannot be destroyed: {self.reason}"
        steps = ", ".join(step.value for step in self.steps) or "nothing to do"
        return f"{name}: {self.reason}; {steps}"


_STOPPABLE = LIVE | {LastRun.NOT_KNOWN}

ROWS: tuple[DeletionRow, ...] = (
    DeletionRow(
        name="protected",
        steps=(),
        reason="{state} and protect_running is set; let it end, cancel it, or set protect_running to False "
        "and run `pulumi up`, then try again",
        because="Destroying a live job cancels it.",
        last_run=LIVE,
        protect_running=True,
        refused=True,
    ),
    DeletionRow(
        name="stop-and-delete",
        steps=(Step.CANCEL, Step.WAIT, Step.DELETE),
        reason="{state}",
        because="The service cannot delete a job that has not ended.",
        last_run=_STOPPABLE,
        keep_record=False,
    ),
    DeletionRow(
        name="stop-and-keep",
        steps=(Step.CANCEL, Step.WAIT),
        reason="{state}, and its record is kept",
        because="A bucket that is destroyed next is no longer written to, and two runs never overlap.",
        last_run=_STOPPABLE,
        keep_record=True,
    ),
    DeletionRow(
        name="end-and-delete",
        steps=(Step.WAIT, Step.DELETE),
        reason="{state}",
        because="Somebody has cancelled it; there is nothing left to protect.",
        last_run=frozenset({LastRun.CANCELLING, LastRun.STOPPED}),
        keep_record=False,
    ),
    DeletionRow(
        name="end-and-keep",
        steps=(Step.WAIT,),
        reason="{state}, and its record is kept",
        because="As above.",
        last_run=frozenset({LastRun.CANCELLING, LastRun.STOPPED}),
        keep_record=True,
    ),
    DeletionRow(
        name="delete",
        steps=(Step.DELETE,),
        reason="{state}",
        because="Its files in the bucket are kept.",
        last_run=ENDED,
        keep_record=False,
    ),
    DeletionRow(
        name="keep",
        steps=(),
        reason="{state}, and its record is kept",
        because="The record documents the run.",
        last_run=ENDED,
        keep_record=True,
    ),
    DeletionRow(
        name="nothing-there",
        steps=(),
        reason="{state}",
        because="Deleting a job twice is not an error.",
        last_run=frozenset({LastRun.GONE, LastRun.NONE}),
    ),
)


def plan(run: LastRun, *, keep_record: bool, protect_running: bool) -> DeletionPlan:
    """Return the plan for a job, by the first row of `ROWS` that matches.

    `keep_record` is on_delete="cancel" for a job that is destroyed, and on_replace="keep" for one that a new
    run replaces.

    A run that is NOT_KNOWN is stopped as if it were live, and never refused: if the service does not answer,
    the first step raises and the resource stays in the state.
    """
    row = next(row for row in ROWS if row.matches(run, keep_record, protect_running))
    return DeletionPlan(
        row=row.name,
        steps=row.steps,
        reason=row.reason.format(state=run.value),
        refused=row.refused,
    )
