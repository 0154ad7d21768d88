"""TensorFlow's ParameterServerStrategy: the variables, the workers, what is saved, and killed replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.client.examples import saved_models
from support.client.examples.example import FOLDER, Example, NewExample

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # TensorFlow, which the first example installs

LOAD = """
import json, sys
import numpy as np
import tensorflow as tf
table = np.loadtxt(sys.argv[1], delimiter=",", dtype="float32")[::5]
model = tf.keras.models.load_model(sys.argv[2])
predicted = model.predict(table[:, :-1] / 16, verbose=0).argmax(1)
print(json.dumps(float((predicted == table[:, -1]).mean())))
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A training to its end, then one of a million epochs: a worker is killed, then the parameter server."""

    outputs: dict[str, Any]
    roles: list[str]
    reading: dict[str, int]
    accuracy_of_saved_model: float
    reading_after_kill: dict[str, int]
    epochs_before_and_after_kill: tuple[int, int]
    deployment_failed: bool
    printed_at_failure: str


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("parameter-server")
    made.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=1200).ok()
    outputs = made.outputs()
    job = made.job("parameter-server", "SUCCEEDED").name
    roles = made.lines(job, "role ", 5)
    reading = _reading(made, job)
    accuracy: float = saved_models.run(
        made,
        LOAD,
        FOLDER / "digits" / "data" / "digits.csv.gz",
        saved_models.bucket(made, outputs["model"].removeprefix("gs://")),
    )

    made.set("epochs", "1000000")
    deployment = made.start_up()
    running = made.job("parameter-server", "RUNNING").name
    assert running != job
    _reading(made, running)
    before = len(made.lines(running, "Epoch ", 2))
    made.control().kill_replica(running.rpartition("/")[2], "workerpool1-1")
    made.lines(running, "this worker reads the digits", 2, task="workerpool1-1")
    after = len(made.lines(running, "Epoch ", len(made.lines(running, "Epoch ")) + 2))
    reading_after_kill = _reading(made, running)
    made.control().kill_replica(running.rpartition("/")[2], "workerpool2-0")
    made.job("parameter-server", "FAILED")
    output, _ = deployment.communicate()
    return Steps(
        outputs=outputs,
        roles=roles,
        reading=reading,
        accuracy_of_saved_model=accuracy,
        reading_after_kill=reading_after_kill,
        epochs_before_and_after_kill=(before, after),
        deployment_failed=deployment.returncode != 0,
        printed_at_failure=output,
    )


def _reading(made: Example, job: str) -> dict[str, int]:
    """Return how often each worker has printed that it reads the data, after each has done so."""
    workers = ("workerpool1-0", "workerpool1-1")
    return {task: len(made.lines(job, "this worker reads the digits", task=task)) for task in workers}


def test_each_replica_has_its_role(steps: Steps) -> None:
    assert sorted(steps.roles) == ["chief 0", "evaluator 0", "ps 0", "worker 0", "worker 1"]


def test_the_parameter_server_holds_every_variable(steps: Steps) -> None:
    devices = steps.outputs["metrics"]["devices"]
    assert len(devices) == 4, "weights and biases of two layers"
    assert set(devices.values()) == {"/job:ps/replica:0/task:0/device:CPU:0"}


def test_the_workers_read_the_data(steps: Steps) -> None:
    """Find the line of the dataset's function, which TensorFlow executes on each worker, not on the chief."""
    assert steps.reading == {"workerpool1-0": 1, "workerpool1-1": 1}


def test_the_loss_falls(steps: Steps) -> None:
    losses = steps.outputs["metrics"]["training_losses"]
    assert len(losses) == 10
    assert losses[-1] < losses[0] / 3


def test_the_saved_model_reads_digits(steps: Steps) -> None:
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.accuracy_of_saved_model > 0.93
    assert steps.outputs["metrics"]["accuracy"] == pytest.approx(steps.accuracy_of_saved_model)


def test_the_evaluator_scores_the_last_checkpoint(steps: Steps) -> None:
    """Expect the score of the saved model: both have the weights after the last step."""
    metrics = steps.outputs["metrics"]
    assert metrics["evaluation"]["accuracy"] == pytest.approx(metrics["accuracy"])
    assert metrics["evaluation"]["loss"] == pytest.approx(metrics["loss"], rel=1e-3)


def test_a_killed_worker_joins_again_while_the_training_continues(steps: Steps) -> None:
    """Restart that worker alone: the other one and the chief print their lines once."""
    assert steps.reading_after_kill == {"workerpool1-0": 1, "workerpool1-1": 2}
    before, after = steps.epochs_before_and_after_kill
    assert after >= before + 2


def test_the_job_fails_when_the_parameter_server_is_killed(steps: Steps) -> None:
    """Lose the variables, which the chief notices."""
    assert steps.deployment_failed
    assert "The replica workerpool0-0 exited with a non-zero status of 1" in steps.printed_at_failure
