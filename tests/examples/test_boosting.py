"""XGBoost and LightGBM on three replicas: one model on all of them. A job that loses a worker fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Result
from support.client.examples.example import NewExample

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # the first deployment fetches and installs packages
]

FRAMEWORKS = ("xgboost", "lightgbm")


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Both trainings to their end, then two of a million rounds, each of which loses a worker."""

    outputs: dict[str, Any]
    losses: dict[str, list[list[float]]]
    trained: dict[str, list[list[str]]]
    lost: Result
    errors: dict[str, str]


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("boosting")
    made.up().ok()
    outputs = made.outputs()
    jobs = {name: made.job(name, "SUCCEEDED").name for name in FRAMEWORKS}
    losses = {
        name: [[float(loss) for loss in line.split()] for line in made.lines(job, "loss ", 3)]
        for name, job in jobs.items()
    }
    trained = {name: [line.split() for line in made.lines(job, "trained ", 3)] for name, job in jobs.items()}

    made.set("rounds", "1000000")
    made.set("workers", "1")
    deployment = made.start_up()
    for name in FRAMEWORKS:
        job = made.job(name, "RUNNING").name
        assert job != jobs[name]
        made.lines(job, "rank ", 2)
        made.control().kill_replica(job.rpartition("/")[2], "workerpool1-0", out_of_memory=True)
    output, _ = deployment.communicate()
    errors = {name: str(made.job(name, "FAILED").error) for name in FRAMEWORKS}
    return Steps(
        outputs=outputs,
        losses=losses,
        trained=trained,
        lost=Result(deployment.returncode, output),
        errors=errors,
    )


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_all_ranks_have_the_same_model(steps: Steps, framework: str) -> None:
    trained = steps.trained[framework]
    assert sorted(rank for rank, _, _, _ in trained) == ["0", "1", "2"]
    assert {size for _, size, _, _ in trained} == {"3"}
    assert len({digest for _, _, digest, _ in trained}) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_loss_falls(steps: Steps, framework: str) -> None:
    assert len(steps.losses[framework]) == 3
    assert all(last < first / 3 for first, last in steps.losses[framework])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_model_reads_digits(steps: Steps, framework: str) -> None:
    completion = steps.outputs[framework]
    assert completion["state"] == "SUCCEEDED"
    assert completion["metrics"]["replicas"] == 3
    assert completion["metrics"]["accuracy"] > 0.85


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_lost_worker_fails_the_job(steps: Steps, framework: str) -> None:
    lost_or_found_it_missing = re.compile(r"workerpool\d-0")
    assert lost_or_found_it_missing.search(steps.errors[framework])
    steps.lost.failed()
