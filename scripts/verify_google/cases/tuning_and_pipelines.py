"""A tuning job of two trials, and a training pipeline with a custom task."""

from __future__ import annotations

from scripts.verify_google.cases.case import SHOW, Case, Json, pool, spec
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import JOB_ENDED, PIPELINE_ENDED, Names, Recorder

_DEFINITION = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"

_REPORT = """
import json, os, sys, time
path = os.environ["CLOUD_ML_HP_METRIC_FILE"]
os.makedirs(os.path.dirname(path), exist_ok=True)
tag = os.environ["CLOUD_ML_HP_METRIC_TAG"]
trial = os.environ.get("CLOUD_ML_TRIAL_ID", "0")
line = {"timestamp": time.time(), "trial": trial, tag: str(float(len(sys.argv) - 1)), "global_step": "1"}
with open(path, "a") as file:
    file.write(json.dumps(line) + chr(10))
"""
"""Reports the number of arguments as the metric, in the form of the package cloudml-hypertune.

So the metric tells whether a parameter arrives as `--x=1` or as `--x 1`.
"""


def _search(names: Names) -> Json:
    return {
        "displayName": names.display_name,
        "labels": names.labels,
        "studySpec": {
            "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
            "parameters": [{"parameterId": "x", "discreteValueSpec": {"values": [1, 2]}}],
            "algorithm": "GRID_SEARCH",
        },
        "maxTrialCount": 2,
        "parallelTrialCount": 2,
        "trialJobSpec": spec(pool(_REPORT)),
    }


def _tune(at: Recorder) -> None:
    created = at.submit("hyperparameterTuningJobs", _search(at.names), step="create")
    if not created.is_success:
        raise at.unexpected("the creation of a tuning job", created)
    name = str(created.body["name"])
    ended = at.wait_for(name, JOB_ENDED)
    # Trials run side by side: the list is compared by their ids, without their times.
    trials = sorted(ended.pop("trials", []), key=lambda each: int(each["id"]))
    at.note("ended", ended)
    for trial in trials:
        at.note(f"trial {trial['id']}", trial)
    at.call("POST", at.vertex(f"{name}:cancel"), {}, step="cancel, ended")
    at.operation(at.call("DELETE", at.vertex(name)), step="delete")


def _pipeline(names: Names) -> Json:
    return {
        "displayName": names.display_name,
        "labels": names.labels,
        "trainingTaskDefinition": _DEFINITION,
        "trainingTaskInputs": spec(pool(SHOW)),
    }


def _without_definition(names: Names) -> Json:
    inputs = spec(pool(SHOW), timeout="60s")
    return {**_pipeline(names), "trainingTaskDefinition": "", "trainingTaskInputs": inputs}


def _unknown_inputs(names: Names) -> Json:
    return {**_pipeline(names), "trainingTaskInputs": {**spec(pool(SHOW), timeout="60s"), "colour": "red"}}


def _train(at: Recorder) -> None:
    at.refused("trainingPipelines", _without_definition(at.names), step="create without definition")
    at.refused("trainingPipelines", _unknown_inputs(at.names), step="create with unknown inputs")
    created = at.submit("trainingPipelines", _pipeline(at.names), step="create")
    if not created.is_success:
        raise at.unexpected("the creation of a pipeline", created)
    name = str(created.body["name"])
    text = f'display_name="{at.names.display_name}"'
    listed = at.call("GET", at.vertex("trainingPipelines"), query={"filter": text})
    found = [each.get("name") == name for each in listed.body.get("trainingPipelines", [])]
    at.note("list by name", {"status": listed.status, "found": found})
    at.wait_for(name, PIPELINE_ENDED)
    at.call("GET", at.vertex(name), step="get, ended")
    at.call("POST", at.vertex(f"{name}:cancel"), {}, step="cancel, ended")
    at.operation(at.call("DELETE", at.vertex(name)), step="delete")


_EARLY = Allowed(step="*", path="*startTime", reason="a job that ends early may have no start")

CASES = (
    Case(
        name="pipeline",
        about="a training pipeline with a custom task, and two that are refused",
        rows=(
            "Training pipelines: custom task",
            "Training pipelines: task inputs",
            "Training pipelines: cancel and delete of pipelines",
            "Training pipelines: list of pipelines",
        ),
        steps=_train,
        jobs=(_pipeline,),
        refused=(_without_definition, _unknown_inputs),
        allowed=(_EARLY,),
    ),
    Case(
        name="tuning",
        about="a grid of two trials: arguments, metrics, measurements, the end",
        rows=(
            "Tuning jobs: create, get, list, cancel, delete",
            "Tuning jobs: trials",
            "Tuning jobs: metrics",
            "Tuning jobs: grid search",
        ),
        steps=_tune,
        jobs=(_search,),
        allowed=(
            _EARLY,
            Allowed(step="trial *", path="*elapsedDuration", reason="programs take their time"),
        ),
    ),
)
