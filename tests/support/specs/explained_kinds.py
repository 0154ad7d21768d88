"""Documents of a tuning job and of training pipelines, and the command on them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]

POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": 1,
    "containerSpec": {"imageUri": "gcr.io/p/i:1"},
}
WORKERS = {**POOL, "replicaCount": 2}
JOB: Document = {
    "workerPoolSpecs": [POOL, WORKERS],
    "baseOutputDirectory": {"outputUriPrefix": "gs://bucket/out"},
}
STUDY: Document = {
    "metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {
            "parameterId": "rate",
            "doubleValueSpec": {"minValue": 0.0001, "maxValue": 0.1},
            "scaleType": "UNIT_LOG_SCALE",
        },
        {
            "parameterId": "model",
            "categoricalValueSpec": {"values": ["linear", "deep"]},
            "conditionalParameterSpecs": [
                {
                    "parentCategoricalValues": {"values": ["deep"]},
                    "parameterSpec": {
                        "parameterId": "layers",
                        "integerValueSpec": {"minValue": "1", "maxValue": "4"},
                    },
                }
            ],
        },
    ],
}
CONFIG: Document = {"studySpec": STUDY, "trialJobSpec": JOB}
TUNING: Document = {"displayName": "search", "maxTrialCount": 6, "parallelTrialCount": 2, **CONFIG}
DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
PIPELINE: Document = {
    "displayName": "digits",
    "trainingTaskDefinition": f"{DEFINITIONS}custom_task_1.0.0.yaml",
    "trainingTaskInputs": JOB,
    "inputDataConfig": {
        "datasetId": "123",
        "fractionSplit": {"trainingFraction": 0.7, "validationFraction": 0.2, "testFraction": 0.1},
        "gcsDestination": {"outputUriPrefix": "gs://bucket/data"},
    },
    "modelToUpload": {"displayName": "digits", "containerSpec": {"imageUri": "gcr.io/p/serve:1"}},
    "modelId": "digits",
}


def changed(document: Document, path: str, value: Any) -> Document:
    """Copy a document with one value replaced, None to remove it. `studySpec.parameters.0.parameterId`."""
    copied = copy.deepcopy(document)
    *above, last = path.split(".")
    inner: Any = copied
    for key in above:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    if value is None:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    return copied


def snake(value: Any) -> Any:
    """Convert a document to snake case."""
    if isinstance(value, dict):
        return {"".join(f"_{c.lower()}" if c.isupper() else c for c in k): snake(v) for k, v in value.items()}
    return [snake(item) for item in value] if isinstance(value, list) else value


Run = Callable[..., tuple[int, str, str]]


def printed(run: Run, *given: Any) -> Any:
    code, out, err = run(*given, "--json")
    assert err == ""
    found = json.loads(out)
    assert code == (2 if found["errors"] else 0)
    return found
