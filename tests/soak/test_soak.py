"""Random histories of jobs on the real engine, as many as fit the time: `make soak` runs more of them."""

from __future__ import annotations

import os

import pytest

from soak import runner
from soak.plan import make

pytestmark = pytest.mark.slow

SECONDS = 120.0
SEED = 6000


def test_whatever_happens_the_jobs_are_those_that_the_page_of_reruns_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SOAK_SEED is the seed of the first stack, SOAK_SECONDS how long it may take.

    Without one it is always the same: what `make soak` finds tomorrow is no reason to refuse a change today.
    """
    seed = int(os.environ.get("SOAK_SEED") or SEED)
    said: list[str] = []
    summary = runner.soak(
        seed=seed,
        stacks=1000,
        seconds=float(os.environ.get("SOAK_SECONDS") or SECONDS),
        say=said.append,
        shorten_seconds=120.0,
    )
    with capsys.disabled():
        print(f"\nSOAK_SEED={seed}: {summary.line()}")
    if summary.failures:
        pytest.fail("\n\n".join(said), pytrace=False)
    assert summary.tally.submissions > 0


def test_a_seed_is_a_history() -> None:
    assert make(7) == make(7)
    assert make(7) != make(8)
    # A declaration has the history that it has, whatever others the stack holds.
    assert [step.declared["d1"] for step in make(7, slots=2).steps if "d1" in step.declared] == [
        step.declared["d1"] for step in make(7, slots=5).steps if "d1" in step.declared
    ]
