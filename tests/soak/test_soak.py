"""Random histories of jobs on the real engine, as many as fit; `make soak ARGS=jobs` runs more."""

from __future__ import annotations

import os

import pytest

from soak import runner
from soak.plan import make

pytestmark = pytest.mark.slow

SECONDS = 120.0
SEED = 6000


def test_jobs_follow_the_rules_of_reruns_despite_disturbances(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SOAK_SEED is the seed of the first stack, SOAK_SECONDS the time limit.

    The default seed is fixed, so that the result depends on the change alone.
    """
    seed = int(os.environ.get("SOAK_SEED") or SEED)
    lines: list[str] = []
    summary = runner.soak(
        seed=seed,
        stacks=1000,
        seconds=float(os.environ.get("SOAK_SECONDS") or SECONDS),
        print_line=lines.append,
        shorten_seconds=120.0,
    )
    with capsys.disabled():
        print(f"\nSOAK_SEED={seed}: {summary.line()}")
    if summary.failures:
        pytest.fail("\n\n".join(lines), pytrace=False)
    assert summary.tally.submissions > 0


def test_a_seed_determines_the_history() -> None:
    assert make(7) == make(7)
    assert make(7) != make(8)
    # The history of a declaration does not depend on the others of its stack.
    assert [step.declared["d1"] for step in make(7, slots=2).steps if "d1" in step.declared] == [
        step.declared["d1"] for step in make(7, slots=5).steps if "d1" in step.declared
    ]
