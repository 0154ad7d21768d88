"""TensorFlow's ParameterServerStrategy: who holds the variables, who computes, and what is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support import saved_models
from support.examples import FOLDER, NewExample

pytestmark = pytest.mark.slow  # TensorFlow

LOAD = """
import json, sys
import numpy as np
import tensorflow as tf
table = np.loadtxt(sys.argv[1], delimiter=",", dtype="float32")[-360:]
model = tf.keras.models.load_model(sys.argv[2])
predicted = model.predict(table[:, :-1] / 16, verbose=0).argmax(1)
print(json.dumps(float((predicted == table[:, -1]).mean())))
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """One deployment."""

    outputs: dict[str, Any]
    roles: list[str]
    reading: dict[str, list[str]]
    accuracy_of_saved_model: float


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("parameter-server")
    made.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=540).ok()
    outputs = made.outputs()
    job = made.job("parameter-server", "SUCCEEDED").name
    model = saved_models.bucket(made, outputs["model"].removeprefix("gs://"))
    return Steps(
        outputs=outputs,
        roles=made.lines(job, "role ", 5),
        reading={
            task: made.lines(job, "this worker reads the digits", task=task)
            for task in ("workerpool1-0", "workerpool1-1")
        },
        accuracy_of_saved_model=saved_models.run(
            made, LOAD, FOLDER / "digits" / "data" / "digits.csv.gz", model
        ),
    )


def test_each_replica_has_its_role(steps: Steps) -> None:
    assert sorted(steps.roles) == ["chief 0", "evaluator 0", "ps 0", "worker 0", "worker 1"]


def test_the_parameter_server_holds_every_variable(steps: Steps) -> None:
    devices = steps.outputs["metrics"]["devices"]
    assert len(devices) == 4, "weights and biases of two layers"
    assert set(devices.values()) == {"/job:ps/replica:0/task:0/device:CPU:0"}


def test_the_workers_read_the_data(steps: Steps) -> None:
    """Find the line of the dataset's function, which TensorFlow executes on each worker, not on the chief."""
    assert {task: len(lines) for task, lines in steps.reading.items()} == {
        "workerpool1-0": 1,
        "workerpool1-1": 1,
    }


def test_the_loss_falls(steps: Steps) -> None:
    losses = steps.outputs["metrics"]["training_losses"]
    assert len(losses) == 10
    assert losses[-1] < losses[0] / 3


def test_the_saved_model_reads_digits(steps: Steps) -> None:
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.accuracy_of_saved_model > 0.9
    assert steps.outputs["metrics"]["accuracy"] == pytest.approx(steps.accuracy_of_saved_model)


def test_the_evaluator_scores_the_last_checkpoint(steps: Steps) -> None:
    """Expect the score of the saved model: both have the weights after the last step."""
    metrics = steps.outputs["metrics"]
    assert metrics["evaluation"]["accuracy"] == pytest.approx(metrics["accuracy"])
    assert metrics["evaluation"]["loss"] == pytest.approx(metrics["loss"], rel=1e-3)
