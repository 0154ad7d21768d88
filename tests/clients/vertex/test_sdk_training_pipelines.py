"""google-cloud-aiplatform's training jobs, datasets and models, in programs written for Vertex AI."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.builds.wheels import installed_wheel
from support.emulated.job_emulator import JobEmulator
from support.tables import every_row

pytestmark = pytest.mark.slow

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-3:latest"

TASK = """
import csv, glob, os, sys

def local(uri):
    return uri.replace("gs://", "/gcs/", 1)

counts = {}
for part in ("TRAINING", "VALIDATION", "TEST"):
    counts[part] = 0
    for path in glob.glob(local(os.environ[f"AIP_{part}_DATA_URI"])):
        with open(path, newline="") as file:
            counts[part] += sum(1 for _ in csv.DictReader(file))
folder = local(os.environ["AIP_MODEL_DIR"])
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "model.txt"), "w") as file:
    file.write(f"{counts} {sys.argv[1:]} {os.environ['EXTRA']}")
"""

BEGIN = f"""
from google.cloud import aiplatform, storage
from google.cloud.aiplatform import training_jobs

training_jobs._JOB_WAIT_TIME = 0.2
aiplatform.init(staging_bucket="gs://train")
IMAGE, SERVING = {IMAGE!r}, {SERVING!r}

def put(name, text):
    storage.Client().bucket("train").blob(name).upload_from_string(text)
    return f"gs://train/{{name}}"

def read(uri):
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return storage.Client().bucket(bucket).blob(name).download_as_text()

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
"""

SCRIPT = """
import sys

table = "number,kind\\n" + "".join(f"{number},{number % 2}\\n" for number in range(200))
dataset = aiplatform.TabularDataset.create(
    display_name="numbers", gcs_source=put("in/numbers.csv", table), labels={"team": "a"}
)
tell(columns=sorted(dataset.column_names), dataset=dataset.resource_name)

def job(name, script):
    return aiplatform.CustomTrainingJob(
        display_name=name,
        script_path=script,
        container_uri=IMAGE,
        model_serving_container_image_uri=SERVING,
        model_serving_container_predict_route="/predict",
        model_serving_container_environment_variables={"A": "b"},
        model_description="of a script",
    )

first = job("script", sys.argv[1])
model = first.run(
    dataset=dataset,
    model_display_name="numbers",
    model_id="numbers",
    model_labels={"team": "a"},
    args=["--epochs", 3, 0.5],
    environment_variables={"EXTRA": "more"},
    training_fraction_split=0.7,
    validation_fraction_split=0.2,
    test_fraction_split=0.1,
    timeout=600,
)
tell(
    state=first.state.name,
    model=model.resource_name,
    version=model.version_id,
    artifact=model.uri,
    content=read(model.uri + "/model.txt"),
    description=model.description,
    labels=dict(model.labels),
    container=model.container_spec.image_uri,
    variable=model.container_spec.env[0].value,
    formats=list(model.supported_export_formats),
    pipeline=first.resource_name,
    trained_by=model.gca_resource.training_pipeline,
    kind=type(model.training_job).__name__,
)
again = job("script-2", sys.argv[1]).run(
    dataset=dataset,
    parent_model="numbers",
    is_default_version=False,
    model_version_aliases=["golden"],
    model_version_description="the second",
    environment_variables={"EXTRA": "again"},
)
tell(
    second=[again.resource_name, again.version_id, list(again.version_aliases), again.version_description],
    default=aiplatform.Model("numbers").version_id,
    golden=aiplatform.Model("numbers@golden").version_id,
    versions=sorted(each.version_id for each in model.versioning_registry.list_versions()),
    listed=[each.display_name for each in aiplatform.CustomTrainingJob.list(filter='display_name:"scr*"')],
    models=[each.name for each in aiplatform.Model.list(filter='display_name="numbers"')],
    datasets=[each.display_name for each in aiplatform.TabularDataset.list()],
)
registry = again.versioning_registry
registry.add_version_aliases(["best"], version="2")
registry.remove_version_aliases(["golden"], version="2")
tell(aliases=list(registry.get_version_info("2").version_aliases))
registry.update_version("2", version_description="renamed", labels={"stage": "two"})
aiplatform.Model("numbers").update(display_name="Numbers", labels={"team": "b"})
tell(
    renamed=aiplatform.Model("numbers@2").version_description,
    updated=[aiplatform.Model("numbers").display_name, dict(aiplatform.Model("numbers").labels)],
    labelled=[each.name for each in aiplatform.Model.list(filter="labels.team=b")],
    exported=aiplatform.Model("numbers").export_model(
        "custom-trained", artifact_destination="gs://train/exported"
    ),
)
registry.delete_version("2")
tell(left=[each.version_id for each in registry.list_versions()])
first.delete()
aiplatform.Model("numbers").delete()
dataset.delete()
tell(
    gone=error_of(lambda: aiplatform.Model("numbers")),
    no_job=error_of(lambda: aiplatform.CustomTrainingJob.get(first.resource_name)),
)
"""


@pytest.fixture(scope="module")
def scripted(script: Any, bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return the results of a program with CustomTrainingJob."""
    task = tmp_path_factory.mktemp("task") / "task.py"
    task.write_text(TASK)
    return script(BEGIN + SCRIPT, str(task))


@pytest.mark.parity("Training pipelines: training jobs of the SDK", same="all three run unchanged")
@every_row(
    ("name", "expected"),
    [
        ("columns", ["kind", "number"]),
        ("state", "PIPELINE_STATE_SUCCEEDED"),
        ("kind", "CustomTrainingJob"),
        ("version", "1"),
        (
            "content",
            "{'TRAINING': 140, 'VALIDATION': 40, 'TEST': 20} ['--epochs', '3', '0.5'] more",
        ),
        ("description", "of a script"),
        ("labels", {"team": "a"}),
        ("container", SERVING),
        ("variable", "b"),
        ("formats", ["custom-trained"]),
        ("default", "1"),
        ("golden", "2"),
        ("versions", ["1", "2"]),
        ("listed", ["script-2", "script"]),
        ("models", ["numbers"]),
        ("datasets", ["numbers"]),
        ("aliases", ["best"]),
        ("renamed", "renamed"),
        ("updated", ["Numbers", {"team": "b"}]),
        ("labelled", ["numbers"]),
        ("left", ["1"]),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_a_script_with_a_dataset(scripted: Mapping[str, Any], name: str, expected: object) -> None:
    assert scripted[name] == expected


def test_the_model_is_the_pipeline_s(scripted: Mapping[str, Any]) -> None:
    assert scripted["trained_by"] == scripted["pipeline"]
    assert scripted["model"].endswith("/models/numbers")


@pytest.mark.parity("Models: versions and aliases")
@pytest.mark.smoke
def test_the_second_version(scripted: Mapping[str, Any]) -> None:
    assert scripted["second"] == [scripted["model"], "2", ["golden"], "the second"]


def test_the_export_says_where_it_is(scripted: Mapping[str, Any]) -> None:
    assert scripted["exported"]["artifactOutputUri"].startswith("gs://train/exported/model-export-Numbers-")


def test_what_was_deleted_is_not_found(scripted: Mapping[str, Any]) -> None:
    assert (scripted["gone"][0], scripted["no_job"][0]) == ("NotFound", "NotFound")


CONTAINER = """
import json, time
items = [
    {"textContent": f"text {n}", "classificationAnnotation": {"displayName": "ab"[n % 2]}} for n in range(30)
]
lines = "\\n".join(map(json.dumps, items))
texts = aiplatform.TextDataset.create(
    display_name="texts",
    gcs_source=[put("in/texts.jsonl", lines)],
    import_schema_uri=aiplatform.schema.dataset.ioformat.text.single_label_classification,
)
job = aiplatform.CustomContainerTrainingJob(
    display_name="container",
    container_uri=IMAGE,
    command=["sh", "-c", "cat $(echo $AIP_TRAINING_DATA_URI | sed s,gs:/,/gcs,) | wc -l; env | grep FORMAT"],
)
model = job.run(
    dataset=texts,
    annotation_schema_uri=aiplatform.schema.dataset.annotation.text.classification,
    base_output_dir="gs://train/container",
)
custom = aiplatform.CustomJob.get(job._gca_resource.training_task_metadata["backingCustomJob"])
tell(model=model, job=custom.resource_name, files=len(texts.export_data("gs://train/texts")))

def container(name, *command):
    return aiplatform.CustomContainerTrainingJob(
        display_name=name, container_uri=IMAGE, command=list(command)
    )

failing = container("failing", "sh", "-c", "exit 4")
tell(failure=error_of(lambda: failing.run(base_output_dir="gs://train/failing")))

long = container("long", "sleep", "600")
long.submit(base_output_dir="gs://train/long")
long.cancel()
while long.state.name != "PIPELINE_STATE_CANCELLED":
    time.sleep(0.1)
tell(cancelled=long.state.name)
put("bare/model.bin", "x")
bare = aiplatform.Model.upload(
    display_name="bare", artifact_uri="gs://train/bare", serving_container_image_uri=SERVING
)
copied = bare.copy(destination_location="europe-west4")
tell(bare=list(bare.version_aliases), copied=copied.location)
"""


@pytest.fixture(scope="module")
def contained(script: Any, bucket: str) -> Mapping[str, Any]:
    """Return the results of a program with CustomContainerTrainingJob."""
    return script(BEGIN + CONTAINER)


@pytest.mark.parity("Training pipelines: training jobs of the SDK")
def test_a_container_with_texts(contained: Mapping[str, Any], emulator: JobEmulator) -> None:
    assert contained["model"] is None
    assert emulator.printed(contained["job"]) == ["24", "AIP_DATA_FORMAT=jsonl"]


@pytest.mark.parity("Datasets: export")
def test_an_export_of_texts(contained: Mapping[str, Any]) -> None:
    assert contained["files"] == 6


def test_a_training_that_fails_raises(contained: Mapping[str, Any]) -> None:
    kind, text = contained["failure"]
    assert kind == "RuntimeError"
    assert "Training failed with" in text and "non-zero status of 4" in text


def test_a_training_is_cancelled(contained: Mapping[str, Any]) -> None:
    assert contained["cancelled"] == "PIPELINE_STATE_CANCELLED"


def test_a_model_that_is_uploaded_and_copied(contained: Mapping[str, Any]) -> None:
    assert (contained["bare"], contained["copied"]) == (["default"], "europe-west4")


PACKAGE = """
import sys
job = aiplatform.CustomPythonPackageTrainingJob(
    display_name="package",
    python_package_gcs_uri=sys.argv[1],
    python_module_name="trainer.task",
    container_uri=IMAGE,
    model_serving_container_image_uri=SERVING,
)
model = job.run(base_output_dir="gs://train/package", replica_count=2, args=["hello"])
tell(content=read(model.uri + "/model.txt"), name=model.display_name)
"""

SETUP = "from setuptools import setup\nsetup(name='trainer', version='1', packages=['trainer'])\n"
MODULE = """
import os, sys

if os.environ["RANK"] == "0":
    folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
    os.makedirs(folder, exist_ok=True)
    open(folder + "model.txt", "w").write(f"{sys.argv[1]} {os.environ['WORLD_SIZE']}")
"""


@pytest.mark.parity("Training pipelines: training jobs of the SDK")
def test_a_package_on_two_replicas(
    script: Any, bucket: str, emulator: JobEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_wheel(tmp_path / "index", "setuptools")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    folder = tmp_path / "trainer-1"
    (folder / "trainer").mkdir(parents=True)
    (folder / "setup.py").write_text(SETUP)
    (folder / "trainer" / "__init__.py").touch()
    (folder / "trainer" / "task.py").write_text(MODULE)
    archive = tmp_path / "trainer-1.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, "trainer-1")
    upload = "/upload/storage/v1/b/train/o?uploadType=media&name=trainer-1.tar.gz"
    assert emulator.call("POST", upload, archive.read_bytes()).status == 200
    found = script(BEGIN + PACKAGE, f"gs://{bucket}/trainer-1.tar.gz")
    assert found["content"] == "hello 2"
