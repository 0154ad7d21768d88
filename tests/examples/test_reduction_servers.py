"""Reduction servers in the third pool: they wait, and the others train as without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.examples import NewExample

pytestmark = pytest.mark.slow  # the training itself is that of test_jax.py


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A training to its end."""

    outputs: dict[str, Any]
    servers: dict[str, Any]
    said: list[str]
    processes: list[str]
    trained: list[list[str]]


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("reduction-servers")
    made.up().ok()
    job = made.job("reduced", "SUCCEEDED")
    return Steps(
        outputs=made.outputs(),
        servers=job.wire["jobSpec"]["workerPoolSpecs"][2],
        said=made.lines(job.name, "", task="workerpool2-0"),
        processes=made.lines(job.name, "process ", 3),
        trained=[line.split() for line in made.lines(job.name, "trained ", 3)],
    )


def test_the_number_of_servers_is_computed(steps: Steps) -> None:
    assert "/training/reductionserver" in steps.servers["containerSpec"]["imageUri"]
    assert int(steps.servers["replicaCount"]) >= 1


def test_a_server_waits_and_says_so(steps: Steps) -> None:
    assert any("wait" in line for line in steps.said), steps.said


def test_the_others_train_without_the_servers(steps: Steps) -> None:
    assert sorted(steps.processes) == [f"{rank} of 3, 1 of 3 devices" for rank in range(3)]
    assert len({digest for _, digest, _ in steps.trained}) == 1
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.outputs["metrics"]["accuracy"] > 0.85
