"""The code lab: its own programs train on two devices and on two machines, by Pulumi and by Google's SDK."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.examples import saved_models
from support.client.examples.example import FOLDER, Example, NewExample
from support.tables import not_empty
from support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]  # TensorFlow, which trains four models

PROGRAMS = {
    "flowers-multi-gpu": "671a0cd8d06266e9f71249f258d937f2c0610d28e56be35ecee66ec3f573d763",
    "flowers-multi-machine": "0a595b27f3b304dbd4c47149c7ebb5be99d222765bf96ca9cee8391bdffd2d53",
}
"""SHA-256 of the programs as the code lab's page has them, without whitespace, which the page has lost."""

LOAD = """
import hashlib, json, sys
import numpy as np
import tensorflow as tf
pictures = tf.keras.utils.image_dataset_from_directory(sys.argv[1], image_size=(180, 180), shuffle=False)
results = []
for folder in sys.argv[2:]:
    model = tf.keras.models.load_model(folder)
    weights = hashlib.sha256(b"".join(each.tobytes() for each in model.get_weights())).hexdigest()
    results.append([weights, model.evaluate(pictures, verbose=0)[1]])
print(json.dumps(results))
"""
DEVICES = """
import sys
from google.cloud import aiplatform
project, bucket = sys.argv[1:]
aiplatform.init(project=project, location="us-central1", staging_bucket=f"gs://{bucket}")
image = f"us-central1-docker.pkg.dev/{project}/flower-app/flower_image_distributed:single_machine"
program = (
    "import tensorflow as tf; strategy = tf.distribute.MirroredStrategy();"
    "print('devices', *strategy.extended.worker_devices, flush=True)"
)
machine = {
    "machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 2
}
container = {"image_uri": image, "command": ["python3", "-c", program]}
pool = {"machine_spec": machine, "replica_count": 1, "container_spec": container}
job = aiplatform.CustomJob(display_name="devices-of-lab", worker_pool_specs=[pool])
job.run()
"""
"""The strategy of the lab's first program on the same machine and image. It names its devices in no log."""

NOTEBOOK = 'eval "$(vertex-training emulator env)"; python sdk.py "$0" "$1"'
SHOW_DEVICES = 'eval "$(vertex-training emulator env)"; python -c "$2" "$0" "$1"'
SAVED = ("model_output", "multi-machine-output", "workertemp_0/multi-machine-output")


@dataclass(frozen=True)
class Model:
    """The digest of its weights, and its accuracy on pictures that were drawn for the test."""

    weights: str
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Two jobs of Pulumi, then the same by the SDK."""

    outputs: dict[str, Any]
    devices: list[str]
    losses: list[float]
    accuracies: list[float]
    models: list[Model]
    printed_by_sdk: str
    models_of_sdk: list[Model]
    jobs_left: list[str]
    bucket_is_left: bool


@pytest.fixture(scope="module")
def steps(example: NewExample, tmp_path_factory: pytest.TempPathFactory) -> Steps:
    made = example("code-lab")
    pictures = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, made.folder / "draw" / "draw.py", pictures, "10", "7"], check=True)
    made.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=1500).ok()
    outputs = made.outputs()
    job = made.job("flowers-multi-gpu", "SUCCEEDED").name
    bucket = saved_models.bucket(made, outputs["bucket"])
    models = load(made, pictures, bucket)

    for folder in ("model_output", "multi-machine-output", "workertemp_0"):
        shutil.rmtree(bucket / folder)
    before = display_names(made)
    printed_by_sdk = in_notebook(made, NOTEBOOK, outputs)
    assert display_names(made) == before
    models_of_sdk = load(made, pictures, bucket)

    in_notebook(made, SHOW_DEVICES, outputs, DEVICES)
    devices = made.lines(made.job("devices-of-lab", "SUCCEEDED").name, "devices ")
    log = "\n".join(logged(made, job))
    made.destroy().ok()
    return Steps(
        outputs=outputs,
        devices=re.findall(r"device:CPU:\d", devices[0]),
        losses=[float(each) for each in re.findall(r"val_loss: ([0-9.]+)", log)],
        accuracies=[float(each) for each in re.findall(r"val_accuracy: ([0-9.]+)", log)],
        models=models,
        printed_by_sdk=printed_by_sdk,
        models_of_sdk=models_of_sdk,
        jobs_left=display_names(made),
        bucket_is_left=bucket.exists(),
    )


def in_notebook(made: Example, shell: str, outputs: dict[str, Any], *programs: str) -> str:
    """Run Google's SDK in a shell as the README says. Return what it prints."""
    done = subprocess.run(
        ["bash", "-ec", shell, outputs["project"], outputs["bucket"], *programs],
        cwd=made.folder,
        env=made.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def logged(made: Example, job: str) -> list[str]:
    """Return the log of a job, after the ends of all ten epochs are there."""

    def complete() -> list[str]:
        lines = made.lines(job, "")
        return lines if sum("val_accuracy" in line for line in lines) == 10 else []

    return eventually(complete, every=0.2)


def load(made: Example, pictures: Path, bucket: Path) -> list[Model]:
    found = saved_models.run(made, LOAD, pictures, *(bucket / each for each in SAVED))
    return [Model(weights, accuracy) for weights, accuracy in found]


def display_names(made: Example) -> list[str]:
    """Return the names of this example's jobs. Others share the emulator."""
    names = [each.display_name for each in custom_jobs.list_jobs(made.endpoint())]
    return sorted(each for each in names if each.startswith(("draw", "flowers")))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_those_of_the_code_lab(name: str) -> None:
    """Expect one other line, that with the bucket, which the code lab asks the reader to write."""
    program = re.sub(r"\s", "", (FOLDER / "code-lab" / name / "trainer" / "task.py").read_text())
    original = program.replace("'/gcs/'+os.environ['BUCKET']", "'/gcs/{your-gcs-bucket}'")
    assert original != program
    assert hashlib.sha256(original.encode()).hexdigest() == PROGRAMS[name]
    dockerfile = (FOLDER / "code-lab" / name / "Dockerfile").read_text().splitlines()
    assert [line for line in dockerfile if line and not line.startswith("#")] == [
        "FROM gcr.io/deeplearning-platform-release/tf2-gpu.2-8",
        "WORKDIR /",
        "COPY trainer /trainer",
        'ENTRYPOINT ["python", "-m", "trainer.task"]',
    ]


def test_both_jobs_of_pulumi_succeed(steps: Steps) -> None:
    assert steps.outputs["states"] == ["SUCCEEDED", "SUCCEEDED"]


def test_one_machine_trains_on_two_devices(steps: Steps) -> None:
    assert steps.devices == ["device:CPU:0", "device:CPU:1"]


def test_the_network_learns(steps: Steps) -> None:
    """Expect no figure of the last epoch: an accuracy near 1 can drop for an epoch."""
    assert len(steps.losses) == len(steps.accuracies) == 10
    assert min(steps.losses[5:]) < steps.losses[0] / 2
    assert max(steps.accuracies) > 0.85


def test_the_saved_models_know_flowers_that_they_have_not_seen(steps: Steps) -> None:
    """Five kinds: an accuracy of 0.2 would be chance."""
    assert all(each.accuracy > 0.6 for each in not_empty(steps.models))


def test_chief_and_worker_save_the_same_weights_in_two_places(steps: Steps) -> None:
    alone, chief, worker = steps.models
    assert chief.weights == worker.weights
    assert alone.weights != chief.weights


def test_the_notebook_of_the_code_lab_trains_the_same(steps: Steps) -> None:
    """CustomContainerTrainingJob and CustomJob run on the images that Pulumi has built."""
    assert "single machine: PIPELINE_STATE_SUCCEEDED" in steps.printed_by_sdk
    assert "two machines: JOB_STATE_SUCCEEDED" in steps.printed_by_sdk
    alone, chief, worker = steps.models_of_sdk
    assert min(alone.accuracy, chief.accuracy) > 0.6
    assert chief.weights == worker.weights


def test_nothing_is_left(steps: Steps) -> None:
    assert steps.jobs_left == []
    assert not steps.bucket_is_left
