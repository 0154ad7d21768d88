"""The value of `job.completion`: the outcome of a run and the metrics that its program wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import JobResourceType
from vertex_training.fields import uris
from vertex_training.fields.json_numbers import without_nan

METRICS_OBJECT = "metrics.json"


class Metrics(dict[str, Any]):
    """Contents of metrics.json. A missing key is None, so that a program can export it in any case."""

    def __missing__(self, name: str) -> None:
        return None


NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("state", "job", "error", "start_time", "end_time", "model_directory")),
    "metrics": Metrics(),
}


def outcome(
    record: JobRecord, base_output_directory: str | None, declared: JobResourceType
) -> dict[str, Any]:
    """Return the outcome without metrics and without the results of its kind.

    Times are RFC 3339. The model directory is None unless the job succeeded.
    """
    succeeded = record.state.name == "JOB_STATE_SUCCEEDED"
    return {
        **NOTHING,
        **declared.no_results,
        "state": record.state.word,
        "job": record.job_id,
        "error": record.error.message if record.error else None,
        "start_time": record.start_time,
        "end_time": record.end_time,
        "model_directory": f"{base_output_directory}model/" if base_output_directory and succeeded else None,
    }


def gone(name: str, declared: JobResourceType) -> dict[str, Any]:
    """Return the outcome of a job that no longer exists and that this deployment never saw."""
    return {**NOTHING, **declared.no_results, "state": "GONE", "job": name.rpartition("/")[2]}


def recorded_outcome(endpoint: Endpoint, record: JobRecord, declared: JobResourceType) -> dict[str, Any]:
    """Return the outcome with results of a job by its record alone, which has its output directory.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    directory = declared.spec.directory_of(record.wire)
    return with_results(outcome(record, directory, declared), endpoint, record, directory, declared)


def with_results(
    found: dict[str, Any],
    endpoint: Endpoint,
    record: JobRecord,
    base_output_directory: str | None,
    declared: JobResourceType,
) -> dict[str, Any]:
    """Add the results of the kind, and the metrics in the model directory, to an outcome.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    return _with_metrics({**found, **declared.results(endpoint, record, base_output_directory)}, endpoint)


def _with_metrics(found: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """Add the contents of metrics.json, if the file exists and is JSON.

    Python writes NaN and infinity there. Outputs have texts for them: NaN in a state would always differ.
    """
    if found["model_directory"] is None:
        return found
    address = uris.parse(found["model_directory"] + METRICS_OBJECT)
    try:
        metrics = without_nan(json.loads(objects.read(endpoint, address.bucket, address.name)))
    except (NotFound, InvalidArgument, ValueError, RecursionError):
        return found
    return {**found, "metrics": Metrics(metrics) if isinstance(metrics, dict) else metrics}
