"""Run Airflow's operators for Vertex AI by `execute()`, and the example DAGs of their provider by `test()`.

The examples are from the provider's source distribution. They read a bucket of Google's, of which there is a
stand-in here, and end with two helpers of Airflow's own tests, which no distribution has.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from airflow.providers.google.cloud.operators import vertex_ai
from google.cloud import aiplatform, storage

EXAMPLES = Path(__file__).parent / "examples"
WHERE = {"project_id": "local", "region": "us-central1"}
PLACE = {"project_id": "local", "location": "us-central1"}
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-16.py310:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-16:latest"
BUCKET = "of-airflow"
MACHINE = {"machine_type": "n1-standard-4", "replica_count": 1}
SAVE = (
    "import os, pathlib\n"
    "folder = pathlib.Path(os.environ['AIP_MODEL_DIR'].replace('gs://', '/gcs/'))\n"
    "folder.mkdir(parents=True, exist_ok=True)\n"
    "(folder / 'model').write_text('saved')\n"
)
TRIAL = (
    "import json, os; open(os.environ['CLOUD_ML_HP_METRIC_FILE'], 'w')"
    ".write(json.dumps({'loss': 0.5, 'global_step': 1}) + '\\n')"
)
METADATA = "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml"


class Context(dict):  # type: ignore[type-arg]
    """The context of a task, as an operator finds it."""

    def __init__(self, operator: Any) -> None:
        self.ti = MagicMock()
        super().__init__(ti=self.ti, task_instance=self.ti, task=operator)

    @property
    def pushed(self) -> dict[str, Any]:
        return {call.kwargs["key"]: call.kwargs["value"] for call in self.ti.xcom_push.call_args_list}


def execute(module: str, name: str, **arguments: Any) -> tuple[Any, dict[str, Any]]:
    """Execute an operator. Return its result, and what it pushed for other tasks."""
    operators = importlib.import_module(f"{vertex_ai.__name__}.{module}")
    operator = getattr(operators, f"{name}Operator")(task_id="task", **arguments)
    context = Context(operator)
    return operator.execute(context), context.pushed


def pool(program: str) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python3", "-c", program]},
    }


def test_custom_job() -> None:
    job = {"display_name": "job", "job_spec": {"worker_pool_specs": [pool("pass")]}}
    result, pushed = execute("custom_job", "CreateCustomJob", custom_job=job, poll_interval=0.1, **WHERE)
    assert result["name"].endswith(pushed["custom_job_id"])
    assert aiplatform.CustomJob.get(result["name"]).state.name == "JOB_STATE_SUCCEEDED"


def test_custom_job_that_fails() -> None:
    job = {"display_name": "job", "job_spec": {"worker_pool_specs": [pool("raise SystemExit(3)")]}}
    with pytest.raises(Exception, match="exited with"):
        execute("custom_job", "CreateCustomJob", custom_job=job, poll_interval=0.1, **WHERE)


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "task.py").write_text(SAVE)
    return str(tmp_path / "task.py")


def package(module: str, form: str) -> str:
    """Make a source distribution with the training program. Return its path."""
    folder = Path(f"{module}-0.1")
    (folder / module).mkdir(parents=True, exist_ok=True)
    (folder / module / "__init__.py").touch()
    (folder / module / "task.py").write_text(SAVE)
    (folder / "setup.py").write_text(
        f"from setuptools import setup\nsetup(name='{module}', version='0.1', packages=['{module}'])\n"
    )
    return shutil.make_archive(module, form, base_dir=folder)


TRAINING = {
    "container_uri": IMAGE,
    "staging_bucket": f"gs://{BUCKET}",
    "model_serving_container_image_uri": SERVING,
    **MACHINE,
    **WHERE,
}


@pytest.mark.parametrize("kind", ["", "Container", "PythonPackage"])
def test_custom_training_job(kind: str, script: str) -> None:
    arguments: dict[str, Any]
    arguments = {
        "": {"script_path": script},
        "Container": {"command": ["python3", "-c", SAVE]},
        "PythonPackage": {"python_module_name": "trainer.task"},
    }[kind]
    if kind == "PythonPackage":
        bucket = storage.Client(project="local").bucket(BUCKET)
        bucket.blob("trainer-0.1.tar.gz").upload_from_filename(package("trainer", "gztar"))
        arguments["python_package_gcs_uri"] = f"gs://{BUCKET}/trainer-0.1.tar.gz"
    _, pushed = execute(
        *("custom_job", f"CreateCustom{kind}TrainingJob"),
        **{**arguments, **TRAINING, "display_name": f"train {kind}", "model_display_name": f"model {kind}"},
    )
    assert aiplatform.Model(pushed["model_id"]).display_name == f"model {kind}"
    listed, _ = execute("custom_job", "ListCustomTrainingJob", **WHERE)
    assert f"train {kind}" in [each["display_name"] for each in listed]
    ids = {"training_pipeline_id": pushed["training_id"], "custom_job_id": pushed["custom_job_id"]}
    execute("custom_job", "DeleteCustomTrainingJob", **ids, **WHERE)
    with pytest.raises(Exception, match=r"404|not found|NotFound"):
        aiplatform.CustomJob.get(pushed["custom_job_id"])


def test_hyperparameter_tuning_job() -> None:
    _, pushed = execute(
        *("hyperparameter_tuning_job", "CreateHyperparameterTuningJob"),
        staging_bucket=f"gs://{BUCKET}",
        display_name="tune",
        worker_pool_specs=[pool(TRIAL)],
        parameter_spec={
            "x": aiplatform.hyperparameter_tuning.DoubleParameterSpec(min=0, max=1, scale="linear")
        },
        metric_spec={"loss": "minimize"},
        max_trial_count=2,
        parallel_trial_count=2,
        **WHERE,
    )
    job = {"hyperparameter_tuning_job_id": pushed["hyperparameter_tuning_job_id"], **WHERE}
    found, _ = execute("hyperparameter_tuning_job", "GetHyperparameterTuningJob", **job)
    assert [trial["final_measurement"]["metrics"][0]["value"] for trial in found["trials"]] == [0.5, 0.5]
    listed, _ = execute("hyperparameter_tuning_job", "ListHyperparameterTuningJob", **WHERE)
    assert [each["name"] for each in listed] == [found["name"]]
    execute("hyperparameter_tuning_job", "DeleteHyperparameterTuningJob", **job)
    assert execute("hyperparameter_tuning_job", "ListHyperparameterTuningJob", **WHERE)[0] == []


def test_dataset() -> None:
    source = {"input_config": {"gcs_source": {"uri": [f"gs://{BUCKET}/table.csv"]}}}
    new = {"display_name": "table", "metadata_schema_uri": METADATA, "metadata": source}
    _, pushed = execute("dataset", "CreateDataset", dataset=new, **WHERE)
    named = {"dataset_id": pushed["dataset_id"], **WHERE}
    assert execute("dataset", "GetDataset", **named)[0]["display_name"] == "table"
    mask = {"paths": ["displayName"]}
    execute("dataset", "UpdateDataset", dataset={"display_name": "new"}, update_mask=mask, **named)
    assert [each["display_name"] for each in execute("dataset", "ListDatasets", **WHERE)[0]] == ["new"]
    execute("dataset", "DeleteDataset", **named)
    assert execute("dataset", "ListDatasets", **WHERE)[0] == []


def test_model() -> None:
    storage.Client(project="local").bucket(BUCKET).blob("m/model").upload_from_string("saved")
    new = {"display_name": "m", "artifact_uri": f"gs://{BUCKET}/m", "container_spec": {"image_uri": SERVING}}
    _, pushed = execute("model_service", "UploadModel", model=new, **WHERE)
    named = {"model_id": pushed["model_id"], **WHERE}
    assert execute("model_service", "GetModel", **named)[0]["display_name"] == "m"
    parent = pushed["model_id"]
    execute("model_service", "UploadModel", model=new, parent_model=parent, **WHERE)
    versions, _ = execute("model_service", "ListModelVersions", **named)
    assert {each["version_id"] for each in versions} == {"1", "2"}
    second = {**WHERE, "model_id": f"{pushed['model_id']}@2"}
    execute("model_service", "SetDefaultVersionOnModel", **second)
    execute("model_service", "AddVersionAliasesOnModel", version_aliases=["best"], **second)
    assert set(aiplatform.Model(parent).version_aliases) == {"default", "best"}
    execute("model_service", "DeleteVersionAliasesOnModel", version_aliases=["best"], **second)
    execute("model_service", "DeleteModelVersion", **{**WHERE, "model_id": f"{pushed['model_id']}@1"})
    assert "m" in [each["display_name"] for each in execute("model_service", "ListModels", **WHERE)[0]]
    execute("model_service", "DeleteModel", **named)
    with pytest.raises(Exception, match=r"404|not found|NotFound"):
        aiplatform.Model(parent)


def test_experiment() -> None:
    named = {"experiment_name": "experiment", **PLACE}
    execute("experiment_service", "CreateExperiment", **named)
    execute("experiment_service", "CreateExperimentRun", experiment_run_name="run", **named)
    assert execute("experiment_service", "ListExperimentRuns", **named)[0] == ["run"]
    state = aiplatform.gapic.Execution.State.COMPLETE
    execute(
        *("experiment_service", "UpdateExperimentRunState"),
        experiment_run_name="run",
        new_state=state,
        **named,
    )
    execute("experiment_service", "DeleteExperimentRun", experiment_run_name="run", **named)
    execute("experiment_service", "DeleteExperiment", **named)


def test_endpoint() -> None:
    _, pushed = execute("endpoint_service", "CreateEndpoint", endpoint={"display_name": "e"}, **WHERE)
    named = {"endpoint_id": pushed["endpoint_id"], **WHERE}
    change = {"endpoint": {"display_name": "new"}, "update_mask": {"paths": ["displayName"]}}
    execute("endpoint_service", "UpdateEndpoint", **change, **named)
    assert [each["display_name"] for each in execute("endpoint_service", "ListEndpoints", **WHERE)[0]] == [
        "new"
    ]
    execute("endpoint_service", "DeleteEndpoint", **named)
    assert execute("endpoint_service", "ListEndpoints", **WHERE)[0] == []


@pytest.fixture(scope="module")
def database() -> None:
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True)


@pytest.fixture(scope="module")
def helpers() -> Iterator[None]:
    """Provide the two helpers: a task that fails if another one does, and the test of a DAG."""
    from airflow.sdk import task

    @task(trigger_rule="one_failed", retries=0)
    def watcher() -> None:
        raise RuntimeError("A task has failed.")

    names = ("tests_common", "tests_common.test_utils")
    modules = {name: ModuleType(name) for name in (*names, f"{names[1]}.watcher", f"{names[1]}.system_tests")}
    vars(modules[f"{names[1]}.watcher"])["watcher"] = watcher
    vars(modules[f"{names[1]}.system_tests"])["get_test_run"] = lambda dag: dag
    sys.modules.update(modules)
    yield
    for name in modules:
        del sys.modules[name]


@pytest.fixture(scope="module")
def data() -> None:
    """Upload what the examples read."""
    bucket = storage.Client(project="local").bucket("airflow-system-tests-resources")
    folder = "vertex-ai/california-housing-data"
    bucket.blob(f"{folder}/california_housing_train.csv").upload_from_string("a,b\n1,2\n")
    bucket.blob(f"{folder}/california_housing_training_script.py").upload_from_string(SAVE)
    archive = package("aiplatform_custom_trainer_script", "tar")
    bucket.blob(f"{folder}/custom_trainer_script-0.1.tar").upload_from_filename(archive)
    for name in ("tabular-dataset", "forecast-dataset", "image-dataset-flowers", "flowers-dataset"):
        bucket.blob(f"vertex-ai/datasets/{name}.csv").upload_from_string("a,b\n1,2\n")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("example_*.py")), ids=lambda file: file.stem)
def test_example(file: Path, database: None, helpers: None, data: None) -> None:
    # A run parses all files of the folder, which Airflow reads from its settings once.
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(file, folder)
    spec = importlib.util.spec_from_file_location(file.stem, folder / file.name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run = module.dag.test()
    states = {task.task_id: str(task.state) for task in run.get_task_instances()}
    assert {name: state for name, state in states.items() if state not in ("success", "skipped")} == {}
