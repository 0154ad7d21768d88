"""The words for methods that the emulator does not serve on purpose: why, and what to use instead."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_SERVING = (
    "It keeps endpoints as records and serves no model: load the files of the model (artifact_uri) in your "
    "program, run its serving container yourself, or deploy on Google Cloud."
)
_BATCH = "It runs no batch predictions: run your code as a CustomJob that reads and writes the same files."
_PIPELINES = (
    "It runs no pipelines of Vertex AI Pipelines: run each step as a CustomJob or a TrainingPipeline, or the "
    "whole pipeline on this machine with kfp.local."
)
_SCHEDULES = (
    "It has no schedules of Vertex AI: use a job of Cloud Scheduler, which it runs (TrainingSchedule in a "
    "Pulumi program)."
)
_NOTEBOOKS = (
    "It keeps templates of notebook runtimes as records and starts no runtime: run the notebook on this "
    "machine, or its code as a CustomJob."
)
_REASONS = {
    "EndpointService.*": _SERVING,
    "PredictionService.*": _SERVING,
    "JobService.*BatchPredictionJob*": _BATCH,
    "PipelineService.*PipelineJob*": _PIPELINES,
    "ScheduleService.*": _SCHEDULES,
    "NotebookService.*": _NOTEBOOKS,
}
"""The reason by the short name of a method."""

_PREDICTION = re.compile(
    r"/endpoints/[^/]+:\w*(?:[pP]redict|explain|generateContent|GenerateContent)$|/endpoints/[^/]+/invoke"
)


def refusal(name: str, *, host: str | None = None) -> str:
    """Return the message for a method, by its full name, or for an unknown path, such as "POST /v1/...".

    `host` is the host of Google that was called, if it is known.
    """
    short = ".".join(name.split(".")[-2:])
    if _PREDICTION.search(name):
        short = "PredictionService.Predict"
    reason = next((words for pattern, words in _REASONS.items() if fnmatchcase(short, pattern)), "")
    of_host = f" of {host}" if host else ""
    return f"The emulator does not implement {name}{of_host}." + (f" {reason}" if reason else "")
