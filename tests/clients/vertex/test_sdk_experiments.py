"""google-cloud-aiplatform's experiments, in a program for Vertex AI: without a Tensorboard, and with one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import Any

import pytest

from pulumi_vertex_training.ui.source.experiments import experiments
from pulumi_vertex_training.views import target
from support.emulated.job_emulator import JobEmulator

pytestmark = pytest.mark.slow

PROGRAM = """
from google.cloud import aiplatform

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]

State = aiplatform.gapic.Execution.State
board = aiplatform.Tensorboard.create(display_name="board", labels={"team": "a"})

aiplatform.init(experiment="plain", experiment_tensorboard=False, experiment_description="without a board")
aiplatform.start_run("first")
aiplatform.log_params({"lr": 0.1, "optimizer": "sgd"})
aiplatform.log_metrics({"accuracy": 0.9})
aiplatform.log_metrics({"recall": 1})
aiplatform.end_run()
plain = aiplatform.ExperimentRun.get("first", experiment="plain")
tell(
    plain=[plain.get_params(), plain.get_metrics(), plain.state.name, plain.get_time_series_data_frame().empty
           if PANDAS else True],
    description=aiplatform.Experiment("plain").resource_name.rpartition("/")[2],
)

aiplatform.init(experiment="with-board", experiment_tensorboard=board)
with aiplatform.start_run("first") as run:
    run.log_params({"lr": 0.1})
    for loss in (1.0, 0.5):
        run.log_time_series_metrics({"loss": loss})
    run.log_time_series_metrics({"loss": 0.25, "accuracy": 0.8}, step=10)
    run.log_classification_metrics(labels=["cat", "dog"], matrix=[[9, 1], [2, 8]], display_name="confusion")
    with aiplatform.start_execution(
            schema_title="system.ContainerExecution", display_name="train") as execution:
        data = aiplatform.Artifact.create(schema_title="system.Dataset", uri="gs://train/data")
        model = aiplatform.Artifact.create(schema_title="system.Model", uri="gs://train/model")
        execution.assign_input_artifacts([data])
        execution.assign_output_artifacts([model])
        tell(linked=[[each.uri for each in found] for found in (
            execution.get_input_artifacts(), execution.get_output_artifacts())])
try:
    with aiplatform.start_run("second"):
        raise RuntimeError("training failed")
except RuntimeError:
    pass
aiplatform.start_run("third")
aiplatform.log_metrics({"accuracy": 1.0})
aiplatform.end_run(State.CANCELLED)
aiplatform.start_run("third", resume=True)
aiplatform.log_metrics({"accuracy": 0.5})
aiplatform.end_run()

runs = {each.name: each for each in aiplatform.ExperimentRun.list(experiment="with-board")}
first = aiplatform.ExperimentRun.get("first", experiment="with-board")
series = first._backing_tensorboard_run.resource.read_time_series_data()
tell(
    states={name: each.state.name for name, each in runs.items()},
    third=runs["third"].get_metrics(),
    series={name: [[point.step, point.scalar.value] for point in each.values]
            for name, each in series.items()},
    artifacts=sorted(each.schema_title for each in first.get_artifacts()),
    executions=[[each.display_name, each.state.name] for each in first.get_executions()],
    confusion=first.get_classification_metrics()[0]["matrix"],
    boards=[each.display_name for each in aiplatform.Tensorboard.list(filter='labels.team=a')],
    run_of_board=[each.display_name for each in aiplatform.TensorboardRun.list(
        tensorboard_experiment_name=board.resource_name + "/experiments/with-board",
        filter='display_name="second"')],
    experiments=sorted(each.name for each in aiplatform.Experiment.list()),
    missing=aiplatform.ExperimentRun.get("none", experiment="with-board") is None,
    again=error_of(lambda: aiplatform.start_run("first")),
    bad=error_of(lambda: aiplatform.init(experiment="Not_Good")),
)
if PANDAS:
    frame = aiplatform.get_experiment_df("with-board").sort_values("run_name")
    columns = ["run_name", "state", "param.lr", "metric.accuracy", "time_series_metric.loss"]
    tell(
        frame=frame[columns].astype(object).where(frame[columns].notna(), None).values.tolist(),
        loss=first.get_time_series_data_frame()["loss"].tolist(),
    )

aiplatform.init(experiment="with-board")
first.delete(delete_backing_tensorboard_run=True)
aiplatform.Experiment("plain").delete()
tell(
    runs_left=sorted(each.name for each in aiplatform.ExperimentRun.list(experiment="with-board")),
    board_runs_left=sorted(each.display_name for each in aiplatform.TensorboardRun.list(
        tensorboard_experiment_name=board.resource_name + "/experiments/with-board")),
    experiments_left=[each.name for each in aiplatform.Experiment.list()],
)
board.update(display_name="renamed", is_default=True)
tell(renamed=aiplatform.Tensorboard(board.resource_name).display_name)
aiplatform.Experiment("with-board").delete()
board.delete()
tell(gone=error_of(lambda: aiplatform.Tensorboard(board.resource_name))[0])
"""

DEFAULT_BOARD = """
from google.cloud import aiplatform
aiplatform.init(experiment="by-default")
with aiplatform.start_run("one") as run:
    run.log_time_series_metrics({"loss": 1.0})
boards = aiplatform.Tensorboard.list(filter="is_default=true")
tell(backing=aiplatform.Experiment("by-default").backing_tensorboard_resource_name == boards[0].resource_name)
"""

SHOWN = """
from google.cloud import aiplatform
board = aiplatform.Tensorboard.create(display_name="curves")
aiplatform.init(experiment="shown", experiment_tensorboard=board)
for name, rate in (("slow", 0.1), ("fast", 0.9)):
    with aiplatform.start_run(name) as run:
        run.log_params({"rate": rate})
        for loss in (1.0, 1 - rate):
            run.log_time_series_metrics({"loss": loss})
        run.log_metrics({"accuracy": rate})
tell()
"""

SERVING = """
from google.cloud import aiplatform

def error_of(call):
    try:
        call()
    except Exception as error:
        return str(error)

model = aiplatform.Model.upload(display_name="digits", serving_container_image_uri="python:3.11")
endpoint = aiplatform.Endpoint.create(display_name="digits", labels={"team": "a"})
tell(
    endpoint=[endpoint.display_name, endpoint.labels, endpoint.list_models()],
    listed=[each.display_name for each in aiplatform.Endpoint.list(filter="labels.team=a")],
    deploy=error_of(lambda: endpoint.deploy(model, machine_type="n1-standard-4")),
    predict=error_of(lambda: endpoint.predict(instances=[[1]])),
)
endpoint.update(display_name="renamed")
tell(renamed=aiplatform.Endpoint(endpoint.resource_name).display_name)
endpoint.delete(force=True)
tell(left=[each.name for each in aiplatform.Endpoint.list()])
"""


@pytest.fixture(scope="module")
def found(script: Any) -> dict[str, Any]:
    """Return the values that the program reported. Columns of tables are missing without pandas."""
    has_pandas = importlib.util.find_spec("pandas") is not None
    values: dict[str, Any] = script(f"PANDAS = {has_pandas}\n{PROGRAM}")
    return values


@pytest.mark.parity(
    "Experiments and endpoints: experiments of the SDK",
    same="it works unchanged, with and without a tensorboard",
)
@pytest.mark.smoke
def test_an_experiment_without_a_board(found: Mapping[str, Any]) -> None:
    params, metrics, state, _ = found["plain"]
    assert params == {"lr": 0.1, "optimizer": "sgd"}
    assert metrics == {"accuracy": 0.9, "recall": 1}
    assert (state, found["description"]) == ("COMPLETE", "plain")


@pytest.mark.parity("Experiments and endpoints: experiments of the SDK")
def test_an_experiment_with_a_board(found: Mapping[str, Any]) -> None:
    assert found["states"] == {"first": "COMPLETE", "second": "FAILED", "third": "COMPLETE"}
    assert found["third"] == {"accuracy": 0.5}
    assert found["series"] == {"loss": [[1, 1.0], [2, 0.5], [10, 0.25]], "accuracy": [[10, 0.8]]}
    assert found["run_of_board"] == ["second"]
    assert found["boards"] == ["board"]
    assert found["missing"]


@pytest.mark.parity("Experiments and endpoints: experiments of the SDK")
def test_artifacts_and_executions_of_a_run(found: Mapping[str, Any]) -> None:
    assert found["linked"] == [["gs://train/data"], ["gs://train/model"]]
    assert found["executions"] == [["train", "COMPLETE"]]
    assert {"system.Dataset", "system.Model", "google.ClassificationMetrics"} <= set(found["artifacts"])
    assert found["confusion"] == [[9.0, 1.0], [2.0, 8.0]]


@pytest.mark.parity("Experiments and endpoints: experiments of the SDK")
def test_tables_of_pandas(found: Mapping[str, Any]) -> None:
    if "frame" not in found:
        message = "pandas is not installed. To run this test: make setup"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    assert found["frame"] == [
        ["first", "COMPLETE", 0.1, None, 0.25],
        ["second", "FAILED", None, None, None],
        ["third", "COMPLETE", None, 0.5, None],
    ]
    assert found["loss"] == [1.0, 0.5, 0.25]


def test_errors(found: Mapping[str, Any]) -> None:
    assert found["again"][0] == "AlreadyExists"
    assert found["again"][1].endswith("/contexts/with-board-first already exists")
    assert found["bad"][0] == "InvalidArgument"
    assert "'Not_Good' is not a valid ID" in found["bad"][1]


@pytest.mark.parity("Experiments and endpoints: experiments of the SDK")
def test_deletions(found: Mapping[str, Any]) -> None:
    assert found["experiments"] == ["plain", "with-board"]
    assert found["runs_left"] == found["board_runs_left"] == ["second", "third"]
    assert found["experiments_left"] == ["with-board"]
    assert (found["renamed"], found["gone"]) == ("renamed", "NotFound")


@pytest.mark.parity("Experiments and endpoints: experiments of the SDK")
def test_the_default_board(script: Any) -> None:
    assert script(DEFAULT_BOARD) == {"backing": True}


def test_the_dashboard_shows_an_experiment_of_the_sdk(script: Any, emulator: JobEmulator) -> None:
    script(SHOWN)
    endpoint = target.resolve(target.Choice(data_dir=emulator.data_dir), {})
    (row,) = [one for one in experiments.read_all(endpoint).rows if one.id == "shown"]
    assert (row.runs, row.board) == ("2", "curves")
    found = experiments.read(endpoint, "shown")
    assert found is not None
    cells = {one.name: {cell.name: cell.text for _, cell in one.cells} for one in found.rows}
    assert {name: (row["rate"], row["accuracy"]) for name, row in cells.items()} == {
        "slow": ("0.1", "0.1"),
        "fast": ("0.9", "0.9"),
    }
    curves = {one.source: [value for _, value in one.points] for one in found.curves}
    assert {name: [round(value, 3) for value in values] for name, values in curves.items()} == {
        "slow": [1.0, 0.9],
        "fast": [1.0, 0.1],
    }


@pytest.mark.parity("Experiments and endpoints: endpoints")
def test_endpoints_and_the_refusal_to_serve(script: Any) -> None:
    found = script(SERVING)
    assert found["endpoint"] == ["digits", {"team": "a"}, []]
    assert (found["listed"], found["renamed"], found["left"]) == (["digits"], "renamed", [])
    for refused in (found["deploy"], found["predict"]):
        assert "It keeps endpoints as records and serves no model" in refused
