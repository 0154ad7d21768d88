"""The table of deletions: its rows, what it refuses, its steps and its sentences."""

from __future__ import annotations

import itertools

import pytest

from pulumi_vertex_training.runs.policies import deletion_policy
from pulumi_vertex_training.runs.policies.deletion_policy import Step, plan
from pulumi_vertex_training.runs.policies.run_status import ENDED, LIVE, STARTED, LastRun

REMOVALS = tuple(itertools.product(LastRun, (False, True), (False, True)))


def test_every_removal_has_a_row_and_every_row_a_removal() -> None:
    assert {plan(run, keep_record=keep, protect_running=protect).row for run, keep, protect in REMOVALS} == {
        row.name for row in deletion_policy.ROWS
    }


def test_a_removal_is_refused_for_a_live_job_under_protection_alone() -> None:
    for run, keep, protect in REMOVALS:
        made = plan(run, keep_record=keep, protect_running=protect)
        assert made.refused == (protect and run in LIVE)
        assert not (made.refused and made.steps)


def test_the_steps_of_a_removal() -> None:
    for run, keep, _ in REMOVALS:
        steps = plan(run, keep_record=keep, protect_running=False).steps
        assert (Step.CANCEL in steps) == (run in LIVE | {LastRun.NOT_KNOWN})
        assert (Step.WAIT in steps) == (run not in ENDED | {LastRun.NONE, LastRun.GONE})
        assert (Step.DELETE in steps) == (not keep and run in STARTED and run is not LastRun.GONE)
        assert steps == tuple(step for step in Step if step in steps)


@pytest.mark.parametrize(
    ("run", "keep", "protect", "sentence"),
    [
        pytest.param(
            LastRun.RUNNING,
            True,
            False,
            "train: it is running, and its record is kept; cancel, wait until it has ended",
            id="kept",
        ),
        pytest.param(LastRun.GONE, False, True, "train: it was deleted; nothing to do", id="gone"),
        pytest.param(LastRun.GONE, True, False, "train: it was deleted; nothing to do", id="gone, kept"),
        pytest.param(LastRun.NONE, True, False, "train: it has not run yet; nothing to do", id="never run"),
        pytest.param(
            LastRun.RUNNING,
            False,
            True,
            "train cannot be destroyed: it is running and protect_running is set; let it end, cancel it, or "
            "set protect_running to False and run `pulumi up`, then try again",
            id="refused",
        ),
    ],
)
def test_what_a_removal_says(run: LastRun, keep: bool, protect: bool, sentence: str) -> None:
    assert plan(run, keep_record=keep, protect_running=protect).sentence("train") == sentence
