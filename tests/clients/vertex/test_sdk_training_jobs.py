"""google-cloud-aiplatform's three training jobs, datasets and models, in a program written for Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from support.job_emulator import JobEmulator, messages

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"

PROGRAM = """
import os, subprocess, sys, threading
from google.cloud import aiplatform, storage

aiplatform.init(staging_bucket="gs://train")
bucket = storage.Client().bucket("train")

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]

open("task.py", "w").write('''
import os, sys
print("script", sys.argv[1:], os.environ["MODE"])
folder = "/gcs/" + os.environ["AIP_MODEL_DIR"][5:]
os.makedirs(folder, exist_ok=True)
open(folder + "model.txt", "w").write("weights")
''')
script = aiplatform.CustomTrainingJob(
    display_name="by-script",
    script_path="task.py",
    container_uri="IMAGE",
    requirements=[],
    model_serving_container_image_uri="SERVING",
    labels={"team": "a"},
)
os.makedirs("package/trainer", exist_ok=True)
open("package/trainer/__init__.py", "w").close()
open("package/trainer/task.py", "w").write("import sys; print('package', sys.argv[1:])")
open("package/setup.py", "w").write(
    "from setuptools import setup; setup(name='trainer', version='0.1', packages=['trainer'])")
subprocess.run([sys.executable, "setup.py", "-q", "sdist", "--formats=gztar"], cwd="package", check=True)
bucket.blob("trainer-0.1.tar.gz").upload_from_filename("package/dist/trainer-0.1.tar.gz")
package = aiplatform.CustomPythonPackageTrainingJob(
    display_name="by-package",
    python_package_gcs_uri="gs://train/trainer-0.1.tar.gz",
    python_module_name="trainer.task",
    container_uri="IMAGE",
)
bucket.blob("rows.csv").upload_from_string("a,b\\n" + "".join(f"{n},{n * n}\\n" for n in range(50)))
table = aiplatform.TabularDataset.create(display_name="rows", gcs_source="gs://train/rows.csv")
container = aiplatform.CustomContainerTrainingJob(
    display_name="by-container",
    container_uri="IMAGE",
    command=["python3", "-c", '''
import glob, os
print("format", os.environ["AIP_DATA_FORMAT"])
for name in ("TRAINING", "VALIDATION", "TEST"):
    pattern = "/gcs/" + os.environ["AIP_" + name + "_DATA_URI"][5:]
    print(name, sum(len(open(path).read().splitlines()) - 1 for path in glob.glob(pattern)))
'''],
)
found = {}
def run(name, call):
    try:
        found[name] = call()
    except Exception as error:
        found[name] = error
threads = [
    threading.Thread(target=run, args=("script", lambda: script.run(
        args=["--epochs=3", "--rate", 0.5], environment_variables={"MODE": "test"}, replica_count=1,
        model_display_name="digits", model_labels={"stage": "one"}, base_output_dir="gs://train/script"))),
    threading.Thread(target=run, args=("package", lambda: package.run(args=["one"], replica_count=2))),
    threading.Thread(target=run, args=("container", lambda: container.run(
        dataset=table, training_fraction_split=0.8, validation_fraction_split=0.1, test_fraction_split=0.1))),
]
for each in threads:
    each.start()
for each in threads:
    each.join()
for name, value in found.items():
    if isinstance(value, Exception):
        raise value
model = found["script"]
tell(
    script=script.state.name,
    package=package.state.name,
    container=container.state.name,
    models=[found["package"] is None, found["container"] is None],
    backing={name: job._gca_resource.training_task_metadata["backingCustomJob"]
             for name, job in (("script", script), ("package", package), ("container", container))},
    listed=sorted(each.display_name for each in aiplatform.CustomTrainingJob.list()),
    filtered=[each.display_name
              for each in aiplatform.CustomTrainingJob.list(filter='display_name="by-script"')],
    got=aiplatform.CustomTrainingJob.get(script.resource_name).display_name,
    model=[model.display_name, model.version_id, model.uri, dict(model.labels)],
    serving=model.container_spec.image_uri,
    aliases=list(model.version_aliases),
    dataset=[table.display_name, sorted(table.column_names)],
)

second = aiplatform.Model.upload(
    display_name="digits",
    parent_model=model.resource_name,
    artifact_uri="gs://train/script/model",
    serving_container_image_uri="SERVING",
    version_aliases=["candidate"],
    version_description="the second",
    is_default_version=False,
)
registry = second.versioning_registry
tell(
    second=[second.version_id, second.version_description],
    versions=sorted(each.version_id for each in registry.list_versions()),
    default=aiplatform.Model(model.resource_name).version_id,
    by_alias=aiplatform.Model(model.resource_name, version="candidate").version_id,
)
registry.add_version_aliases(["best"], version="2")
registry.remove_version_aliases(["candidate"], version="2")
tell(changed=sorted(registry.get_version_info("2").version_aliases))
model = aiplatform.Model(model.resource_name)
model.update(display_name="renamed", labels={"stage": "two"})
tell(renamed=[each.display_name for each in aiplatform.Model.list(filter='labels.stage=two')])
registry.delete_version("2")
tell(left=[each.version_id for each in registry.list_versions()])
aiplatform.Model(model.resource_name).delete()
tell(models_left=[each.display_name for each in aiplatform.Model.list()])
script.delete()
table.delete()
tell(after=sorted(each.display_name for each in aiplatform.CustomTrainingJob.list()),
     again=error_of(lambda: aiplatform.CustomTrainingJob.get(script.resource_name)))
"""


@pytest.fixture(scope="module")
def told(script: Any, bucket: str) -> Any:
    return script(PROGRAM.replace("IMAGE", IMAGE).replace("SERVING", SERVING))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("script", "PIPELINE_STATE_SUCCEEDED", id="CustomTrainingJob"),
        pytest.param("package", "PIPELINE_STATE_SUCCEEDED", id="CustomPythonPackageTrainingJob"),
        pytest.param("container", "PIPELINE_STATE_SUCCEEDED", id="CustomContainerTrainingJob"),
        pytest.param("models", [True, True], id="without a serving container there is no model"),
        pytest.param("filtered", ["by-script"], id="list by name"),
        pytest.param("got", "by-script", id="get"),
        pytest.param("model", ["digits", "1", "gs://train/script/model", {"stage": "one"}], id="the model"),
        pytest.param("serving", SERVING, id="the model's container"),
        pytest.param("aliases", ["default"], id="the model's alias"),
        pytest.param("dataset", ["rows", ["a", "b"]], id="a table"),
        pytest.param("second", ["2", "the second"], id="Model.upload, of a second version"),
        pytest.param("versions", ["1", "2"], id="list_versions"),
        pytest.param("default", "1", id="the default version stays"),
        pytest.param("by_alias", "2", id="a version by its alias"),
        pytest.param("changed", ["best"], id="aliases are changed"),
        pytest.param("renamed", ["renamed"], id="update, and list by label"),
        pytest.param("left", ["1"], id="delete_version"),
        pytest.param("models_left", [], id="Model.delete"),
        pytest.param("after", ["by-container", "by-package"], id="delete of a pipeline"),
    ],
)
def test_what_the_program_sees(told: Mapping[str, Any], what: str, expected: Any) -> None:
    assert told[what] == expected


def test_a_deleted_pipeline_is_not_found(told: Mapping[str, Any]) -> None:
    assert told["again"][0] == "NotFound"


@pytest.mark.parametrize(
    ("job", "line"),
    [
        pytest.param("script", "script ['--epochs=3', '--rate', '0.5'] test", id="script"),
        pytest.param("package", "package ['one']", id="package"),
        pytest.param("container", "format csv", id="data format"),
        pytest.param("container", "TRAINING 40", id="training rows"),
        pytest.param("container", "VALIDATION 5", id="validation rows"),
        pytest.param("container", "TEST 5", id="test rows"),
    ],
)
def test_the_backing_job_has_said(
    told: Mapping[str, Any], emulator: JobEmulator, job: str, line: str
) -> None:
    assert line in messages(emulator.entries(told["backing"][job]))
