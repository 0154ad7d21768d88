"""Google's uploader of TensorBoard logs, and a Keras job with a tensorboard, with the real TensorFlow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from scripts.layout import layout
from scripts.tools import tensorflow_client

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys, threading, time
sys.path.append(sys.argv[1])
import tensorflow as tf
from google.api_core import exceptions
from google.cloud import aiplatform

def written(folder, steps):
    for run in ("train", "validation"):
        writer = tf.summary.create_file_writer(os.path.join(folder, run))
        with writer.as_default():
            for step in steps:
                tf.summary.scalar("epoch loss", 1 / (step + 1), step=step)
            tf.summary.histogram("weights", [1.0, 2.0, 3.0], step=steps[-1])
            tf.summary.image("digits", tf.zeros((1, 4, 4, 3)), step=steps[-1])
        writer.close()

def uploaded(experiment):
    found = {}
    try:
        runs = aiplatform.TensorboardRun.list(
            tensorboard_experiment_name=f"{board.resource_name}/experiments/{experiment}")
    except exceptions.NotFound:  # the uploader creates it with the first data
        return found
    for run in runs:
        series = run.read_time_series_data()
        found[run.display_name] = {
            name: [point.step for point in each.values] for name, each in series.items()}
    return found

aiplatform.init()
board = aiplatform.Tensorboard.create(display_name="uploads")
written("once", range(3))
aiplatform.upload_tb_log(tensorboard_id=board.name, tensorboard_experiment_name="once", logdir="once")
tell(once=uploaded("once"))
prefix = board.gca_resource.blob_storage_path_prefix
from google.cloud import storage
tell(pictures=len(list(storage.Client().list_blobs(prefix))))

os.mkdir("live")
aiplatform.start_upload_tb_log(tensorboard_id=board.name, tensorboard_experiment_name="live", logdir="live")
try:
    written("live", range(2))
    deadline = time.monotonic() + 120
    while not uploaded("live").get("train", {}).get("epoch loss") and time.monotonic() < deadline:
        time.sleep(0.2)
finally:
    aiplatform.end_upload_tb_log()
tell(live=uploaded("live")["train"]["epoch loss"])
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with TensorFlow. Without it the tests are skipped, or fail if CI is set."""
    if not tensorflow_client.is_installed(layout()):
        message = "TensorFlow is not installed. To run this test: make tools"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return tensorflow_client.folder(layout())


@pytest.mark.parity(
    "Experiments and endpoints: Google's uploader of TensorBoard logs",
    same="it works unchanged, with TensorFlow and TensorBoard installed",
)
@pytest.mark.smoke
def test_logs_are_uploaded(script: Any, packages: Path) -> None:
    found = script(PROGRAM, str(packages))
    series = {"epoch loss": [0, 1, 2], "weights": [2], "digits": [2]}
    assert found["once"] == {"train": series, "validation": series}
    assert found["pictures"] == 6  # width, height and data of a picture in each run
    assert found["live"] == [0, 1]
