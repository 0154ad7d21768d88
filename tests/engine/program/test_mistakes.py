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


@dataclass(kw_only=True)
class Previews:
    """The output of the preview of each program."""

    equal: tuple[str, str]
    taken: tuple[str, str]
    accepted: str
    texts: str


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
    texts = refused(TEXTS)
    engine.write(FREE + CONVERTED + SERVERS)
    accepted = engine.preview("--diff").ok().output
    return Previews(equal=equal, taken=taken, accepted=accepted, texts=texts)


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
