"""JAX over three processes: one model on all of them, and a job that continues after a worker was killed.

The example of reduction servers has the same trainer and requirements, so its tests are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.examples.example import Example, NewExample

pytestmark = [
    pytest.mark.slow,  # the variables of each process are shown by tests/engine/frameworks, too
    pytest.mark.timeout(1200),  # the first deployment fetches and installs packages
]


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A training to its end, then one of a million epochs, whose worker is killed after a checkpoint."""

    outputs: dict[str, Any]
    processes: list[str]
    epochs: list[tuple[int, float]]
    trained: list[list[str]]
    continued_after: list[int]
    epochs_of_both_attempts: list[tuple[int, float]]
    cancelled: str


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("jax")
    made.up().ok()
    outputs = made.outputs()
    job = made.job("jax", "SUCCEEDED").name
    processes = made.lines(job, "process ", 3)
    epochs = _epochs(made, job, 11)
    trained = [line.split() for line in made.lines(job, "trained ", 3)]

    made.set("epochs", "1000000")
    made.set("workers", "1")
    deployment = made.start_up()
    running = made.job("jax", "RUNNING").name
    assert running != job
    _epochs(made, running, 2)  # the first one follows a checkpoint
    made.control().kill_replica(running.rpartition("/")[2], "workerpool1-0")
    continued = made.lines(running, "continues after epoch ", 2)
    next_one = int(continued[0]) + 10  # the second attempt trains it, because it had no checkpoint
    made.lines(running, f"finished {next_one} ")
    both = _epochs(made, running, 2)
    custom_jobs.cancel(made.endpoint(), running)
    output, _ = deployment.communicate()
    return Steps(
        outputs=outputs,
        processes=processes,
        epochs=epochs,
        trained=trained,
        continued_after=[int(line) for line in continued],
        epochs_of_both_attempts=both,
        cancelled=output,
    )


def _epochs(made: Example, job: str, count: int) -> list[tuple[int, float]]:
    lines = [line.split(" loss ") for line in made.lines(job, "finished ", count)]
    return [(int(epoch), float(loss)) for epoch, loss in lines]


def test_three_processes_see_each_other(steps: Steps) -> None:
    assert sorted(steps.processes) == [f"{rank} of 3, 1 of 3 devices" for rank in range(3)]


def test_the_loss_falls(steps: Steps) -> None:
    assert [epoch for epoch, _ in steps.epochs] == [1, *range(10, 101, 10)]
    losses = [loss for _, loss in steps.epochs]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 3


def test_all_processes_have_the_same_weights(steps: Steps) -> None:
    assert sorted(rank for rank, _, _ in steps.trained) == ["0", "1", "2"]
    assert len({digest for _, digest, _ in steps.trained}) == 1


def test_the_model_reads_digits(steps: Steps) -> None:
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.outputs["metrics"]["processes"] == 3
    assert steps.outputs["metrics"]["accuracy"] > 0.85


def test_a_killed_worker_costs_only_the_epochs_since_the_checkpoint(steps: Steps) -> None:
    assert len(set(steps.continued_after)) == 1
    checkpoint = steps.continued_after[0]
    assert checkpoint >= 10
    losses = steps.epochs_of_both_attempts
    assert [epoch for epoch, _ in losses].count(1) == 1, "the second attempt began at the first epoch"
    assert dict(losses)[checkpoint + 10] < dict(losses)[10]
    assert "cancelled" in steps.cancelled.lower()


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """A training with reduction servers to its end."""

    outputs: dict[str, Any]
    servers: dict[str, Any]
    waiting: list[str]
    processes: list[str]
    trained: list[list[str]]


@pytest.fixture(scope="module")
def reduced(example: NewExample) -> Reduced:
    made = example("reduction-servers")
    made.up().ok()
    job = made.job("reduced", "SUCCEEDED")
    start = "Emulator: the reduction server is not run; this replica waits"
    return Reduced(
        outputs=made.outputs(),
        servers=job.wire["jobSpec"]["workerPoolSpecs"][2],
        waiting=made.lines(job.name, start, task="workerpool2-0"),
        processes=made.lines(job.name, "process ", 2),
        trained=[line.split() for line in made.lines(job.name, "trained ", 2)],
    )


def test_the_number_of_reduction_servers_is_computed(reduced: Reduced) -> None:
    assert "/training/reductionserver" in reduced.servers["containerSpec"]["imageUri"]
    assert int(reduced.servers["replicaCount"]) >= 1


def test_a_reduction_server_waits_and_says_so(reduced: Reduced) -> None:
    assert len(reduced.waiting) == 1


def test_the_others_train_without_the_reduction_servers(reduced: Reduced) -> None:
    assert sorted(reduced.processes) == [f"{rank} of 2, 1 of 2 devices" for rank in range(2)]
    assert len({digest for _, digest, _ in reduced.trained}) == 1
    assert reduced.outputs["state"] == "SUCCEEDED"
    assert reduced.outputs["metrics"]["accuracy"] > 0.85
