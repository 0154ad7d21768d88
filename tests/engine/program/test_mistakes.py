"""Mistakes that the program and its check find together, in previews of the real engine."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Engine

TWO_BUCKETS = """
vt.StagingBucket("first", name="same-name")
vt.StagingBucket("second", name="same-name")
"""
TWO_MODELS = """
image = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
for name in ("first", "second"):
    vt.Model(name, model_id="same", artifact_uri="gs://models/one", container_spec={"image_uri": image})
"""
TAKEN_BUCKET = 'vt.StagingBucket("mine", name="theirs")\n'
TAKEN_REPOSITORY = 'vt.ImageRepository("mine", repository_id="theirs")\n'
FREE = 'vt.StagingBucket("mine", name="free")\nvt.ImageRepository("images")\n'
TEXTS = """
import datetime

bucket = vt.StagingBucket("data", name="some-bucket")
nothing = None
task = {"image_uri": bucket, "args": [f"--data=gs://{bucket.name}/x", None, {"a"}]}
vt.CustomJob(
    "train",
    worker_pool_specs=[
        {"machine_spec": {"machine_type": "n1-standart-4"}, "replica_count": 1, "container_spec": task}
    ],
    base_output_directory=f"gs://{nothing}/out",
    scheduling={"timeout": datetime.timedelta(hours=1)},
)
"""
CONVERTED = """
import datetime
import pathlib

vt.StagingBucket("bucket", name="some-bucket")
vt.StagedFile("data", bucket="some-bucket", source=pathlib.Path("data.txt"))
vt.CustomJob(
    "train",
    worker_pool_specs=[
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"},
        }
    ],
    base_output_directory="gs://some-bucket/out",
    scheduling=vt.SchedulingArgs(timeout=datetime.timedelta(hours=1)),
)
"""
SERVERS = """
machine = {"machine_type": "n1-highmem-96", "accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 8}
image = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
task = {"machine_spec": machine, "replica_count": 1, "container_spec": {"image_uri": image}}
chief, workers = vt.chief_worker_pool(task, replica_count=5)
pools = vt.topology(chief=chief, workers=workers, reduction_servers="auto")
vt.CustomJob("reduced", worker_pool_specs=pools, framework="MultiWorkerMirroredStrategy")
"""
WRONG_CALLS = """
def tune():
    deeper = [vt.when("x", vt.double_parameter("m", 0, 1))]
    vt.HyperparameterTuningJob(
        "tune",
        max_trial_count="many",
        parallel_trial_count=0,
        study_spec=vt.StudySpecArgs(
            metrics=[{"metric_id": "loss", "goal": "MIN"}],
            parameters=[
                vt.double_parameter("rate", 1, 0.1, scale="log10"),
                vt.integer_parameter("layers", 1, 3, conditions=deeper),
            ],
        ),
        trial_job_spec={"worker_pool_specs": []},
        wait="don",
    )


for call in (
    tune,
    lambda: vt.topology(chef={}),
    lambda: vt.topology({}),
    lambda: vt.double_parameter("rate", 1, scal="log"),
    lambda: vt.get_model("digits", locatoin="us-east1"),
    lambda: vt.MachineSpecArgs("n1-standard-4"),
    lambda: vt.MachineSpecArgs(machine_tpye="n1-standard-4"),
    lambda: vt.StagingBucket(),
    lambda: vt.TrainingSchedule("nightly", job=vt.StagingBucket("data"), schedule="0 3 * * *"),
    lambda: vt.CustomJob(3, worker_pool_specs=[]),
    lambda: vt.DistributedTraining("train", cheif={}, wait="done"),
):
    try:
        call()
    except pulumi.RunError as error:
        pulumi.log.info(str(error))
vt.CustomJob("", worker_pool_specs=[])
"""


@dataclass(kw_only=True)
class Previews:
    """The output of the preview of each program."""

    equal: tuple[str, str]
    taken: tuple[str, str]
    accepted: str
    texts: str
    wrong_calls: str


@pytest.fixture(scope="module")
def previews(shared_engine: Engine) -> Previews:
    engine = shared_engine
    buckets.create(engine.endpoint(), {"name": "theirs", "location": "us-central1"})
    parent = "projects/local/locations/us-central1/repositories"
    repositories.create(engine.endpoint(), f"{parent}/theirs", {"format": "DOCKER"})
    (engine.folder / "infra" / "data.txt").write_text("data")

    def refused(program: str) -> str:
        engine.write(program)
        return engine.preview().failed().output

    equal = refused(TWO_BUCKETS), refused(TWO_MODELS)
    taken = refused(TAKEN_BUCKET), refused(TAKEN_REPOSITORY)
    texts, wrong_calls = refused(TEXTS), refused(WRONG_CALLS)
    engine.write(FREE + CONVERTED + SERVERS)
    accepted = engine.preview("--diff").ok().output
    return Previews(equal=equal, taken=taken, accepted=accepted, texts=texts, wrong_calls=wrong_calls)


def test_resources_with_one_id_are_named(previews: Previews) -> None:
    for output, field in zip(previews.equal, ("name", "model_id"), strict=True):
        assert f"is the {field} of two resources of this program" in output
        assert "'first'" in output
        assert "'second'" in output


def test_an_id_of_somebody_else_is_refused_with_the_remedy(previews: Previews) -> None:
    bucket, repository = previews.taken
    assert "name: 'theirs' is taken: bucket names are global" in bucket
    assert "repository_id: 'theirs' is taken" in repository
    assert 'repository="us-central1-docker.pkg.dev/local/theirs"' in repository


def test_a_free_id_is_accepted(previews: Previews) -> None:
    assert "engine-test-test-images" in previews.accepted


def test_reduction_servers_are_counted(previews: Previews) -> None:
    assert "16 reduction servers have 512 Gbps, enough for 500" in previews.accepted
    assert "reductionserver:latest" in previews.accepted


def test_all_faults_of_a_study_come_with_those_of_the_program(previews: Previews) -> None:
    for words in (
        "wait is 'don'",
        "max_trial_count: expected a whole number, got the string 'many'",
        "parallel_trial_count: 0",
        "study_spec.metrics[0].goal: 'MIN' is not one of MAXIMIZE, MINIMIZE; write MINIMIZE",
        "study_spec.parameters[0].double_value_spec.min_value: 1 is more than max_value 0.1",
        "study_spec.parameters[0].scale_type: 'log10' is not one of",
        "study_spec.parameters[1].conditional_parameter_specs[0].parent_int_values.values: expected a list",
        "trial_job_spec.worker_pool_specs: there is no worker pool",
    ):
        assert words in previews.wrong_calls
    assert "display_name" not in previews.wrong_calls


def test_a_value_that_is_no_text_is_named_with_its_path_and_the_remedy(previews: Previews) -> None:
    task = "worker_pool_specs[0].container_spec"
    for words in (
        f"{task}.image_uri: is the resource 'data' (StagingBucket)",
        f"{task}.args[0]: has an Output in a string after '--data=gs://'",
        "pulumi.Output.concat",
        f"{task}.args[1]: is None; give a string, or remove the entry",
        f"{task}.args[2]: is a set",
        "base_output_directory: 'gs://None/out' has the text of a None in it",
        "worker_pool_specs[0].machine_spec.machine_type: 'n1-standart-4'",
    ):
        assert words in previews.texts


def test_a_path_and_a_duration_are_converted(previews: Previews) -> None:
    assert "3600s" in previews.accepted
    assert '"data.txt"' in previews.accepted


def test_a_wrong_call_is_one_line_without_a_traceback(previews: Previews) -> None:
    for words in (
        "topology: chef: unknown argument; did you mean chief?",
        "topology: chief is missing",
        "topology: give arguments by name, such as chief=...",
        "double_parameter: scal: unknown argument; did you mean scale?",
        "double_parameter: max_value is missing",
        "get_model: locatoin: unknown argument; did you mean location?",
        "MachineSpecArgs: give arguments by name, such as machine_type=...",
        "MachineSpecArgs: 'machine_tpye' is not an argument; did you mean machine_type?",
        "StagingBucket: the name of the resource is missing; give it first",
        "StagingBucket is not a job of this program",
        "CustomJob: the name of the resource is 3; give it first",
        "train: cheif: unknown argument; did you mean chief?",
        "train: chief is missing",
        "CustomJob: the name of the resource is empty; give it first",
    ):
        assert words in previews.wrong_calls
    assert "wait: unknown" not in previews.wrong_calls
    assert "Traceback" not in previews.wrong_calls
