"""Read what jobs report about their progress, for `jobs` and `status`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs.progress import Report, latest_report
from vertex_training.job.job_kind import JobKind

_READS_AT_A_TIME = 8


def report_of(endpoint: Endpoint, record: JobRecord) -> Report | None:
    """Return the latest report of a job, None without one that can be read."""
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        return latest_report(endpoint, kind.directory_of(record.wire))
    except (CloudError, ValueError):
        return None


def reports_of(endpoint: Endpoint, records: Iterable[JobRecord]) -> Mapping[str, Report]:
    """Return the latest reports of the running jobs among the records, by full name."""
    running = [one for one in records if one.state is JobState.JOB_STATE_RUNNING]
    if not running:
        return {}
    with ThreadPoolExecutor(min(len(running), _READS_AT_A_TIME)) as pool:
        reports = pool.map(lambda record: report_of(endpoint, record), running)
        return {record.name: report for record, report in zip(running, reports, strict=True) if report}
