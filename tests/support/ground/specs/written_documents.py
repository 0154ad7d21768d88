"""Documents of jobs as users write them."""

from __future__ import annotations

from vertex_training.findings.problems import errors

CONTAINER = {"imageUri": "repo/trainer:1"}
POOL = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": CONTAINER}
WORKERS = {**POOL, "replicaCount": "2"}
JOB = {"displayName": "digits", "jobSpec": {"workerPoolSpecs": [POOL, WORKERS]}}
ANSWER = {
    **JOB,
    "name": "projects/116273516712/locations/europe-west4/customJobs/2970106362064797696",
    "state": "JOB_STATE_PENDING",
    "createTime": "2021-02-27T17:31:04.494716Z",
    "updateTime": "2021-02-27T17:31:04.494716Z",
    "startTime": None,
    "error": {"code": 1},
    "webAccessUris": {"workerpool0-0": "https://x"},
    "satisfiesPzs": False,
    "satisfiesPzi": False,
}


CONFIG = {
    "studySpec": {
        "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameterId": "rate", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1}}],
    },
    "trialJobSpec": {
        "workerPoolSpecs": [POOL, WORKERS],
        "baseOutputDirectory": {"outputUriPrefix": "gs://staging/search"},
    },
}


PIPELINE = {
    "displayName": "digits",
    "trainingTaskDefinition": (
        "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
    ),
    "trainingTaskInputs": {"workerPoolSpecs": [POOL]},
}


def paths(document):
    return [problem.path for problem in errors(document.problems)]
