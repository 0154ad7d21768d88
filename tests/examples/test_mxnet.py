"""MXNet from a job of AI Platform: two servers have the weights, two workers train, a master schedules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Result
from support.client.examples.example import NewExample

pytestmark = [
    pytest.mark.slow,  # the roles of the replicas are shown by tests/engine/frameworks, too
    pytest.mark.timeout(1200),  # the first deployment fetches and installs packages
]


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A training to its end, then one of a million epochs, which loses a server."""

    outputs: dict[str, Any]
    pools: list[tuple[str, int]]
    roles: dict[str, list[str]]
    losses: list[float]
    trained: list[list[str]]
    lost: Result
    error: str


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("mxnet")
    made.up().ok()
    outputs = made.outputs()
    job = made.job("mxnet_digits", "SUCCEEDED")
    roles = {
        pool: [
            line for one in range(count) for line in made.lines(job.name, "serves as ", task=f"{pool}-{one}")
        ]
        for pool, count in (("workerpool0", 1), ("workerpool2", 2))
    }
    made.lines(job.name, "epoch ", 20)
    losses = [
        float(line.split(" loss ")[1]) for line in made.lines(job.name, "epoch ", 10, task="workerpool1-0")
    ]
    trained = [line.split() for line in made.lines(job.name, "trained ", 2)]

    made.set("epochs", "1000000")
    deployment = made.start_up()
    running = made.job("mxnet_digits", "RUNNING").name
    assert running != job.name
    made.lines(running, "epoch 2 ", 2)
    made.control().kill_replica(running.rpartition("/")[2], "workerpool2-1", out_of_memory=True)
    output, _ = deployment.communicate()
    return Steps(
        outputs=outputs,
        pools=[
            (each["machineSpec"]["machineType"], int(each["replicaCount"]))
            for each in job.wire["jobSpec"]["workerPoolSpecs"]
        ],
        roles=roles,
        losses=losses,
        trained=trained,
        lost=Result(deployment.returncode, output),
        error=str(made.job("mxnet_digits", "FAILED").error),
    )


def test_the_document_gives_the_pools(steps: Steps) -> None:
    assert steps.pools == [("n1-standard-4", 1), ("n1-standard-4", 2), ("n1-standard-4", 2)]


def test_master_and_servers_serve(steps: Steps) -> None:
    assert steps.roles == {"workerpool0": ["scheduler"], "workerpool2": ["server", "server"]}


def test_the_loss_falls(steps: Steps) -> None:
    assert steps.losses[-1] < steps.losses[0] / 3


def test_both_workers_have_the_weights_of_the_servers(steps: Steps) -> None:
    assert sorted(rank for rank, _, _, _ in steps.trained) == ["0", "1"]
    assert {size for _, size, _, _ in steps.trained} == {"2"}
    assert len({digest for _, _, digest, _ in steps.trained}) == 1


def test_the_model_reads_digits(steps: Steps) -> None:
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.outputs["metrics"]["workers"] == 2
    assert steps.outputs["metrics"]["accuracy"] > 0.85


def test_a_lost_server_fails_the_job(steps: Steps) -> None:
    lost_or_found_it_missing = re.compile(r"workerpool\d-\d")
    assert lost_or_found_it_missing.search(steps.error)
    steps.lost.failed()
