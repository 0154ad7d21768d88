"""The emulator's own path of what the programs of a custom job have reported with `cloudml-hypertune`.

The API has the last value of a trial alone. A job that is no trial can report, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vertex_emulator.job_folder import folder
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.tuning import metric_file
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response

_PATH = r"/_local/jobs/([0-9]+)/metric-reports"


def metric_report_routes(jobs: JobService) -> tuple[Route, ...]:
    """Return the route."""

    def reports(_request: Request, match: re.Match[str]) -> Response:
        for record in jobs.records(match[1]):
            return json_response(
                {"reports": list(_reports(jobs.folder(record.id), complete=not record.live))}
            )
        raise HttpError(404, "", f"The emulator has no job {match[1]}. GET /_local/jobs lists its jobs.")

    return (Route("GET", _PATH, reports),)


def _reports(job_folder: folder.JobFolder, *, complete: bool) -> Iterator[dict[str, Any]]:
    plan = folder.read_json(job_folder.plan) or {}
    for replica in plan.get("replicas", ()):
        lines = metric_file.read_lines(job_folder.metric_file(replica["name"]), complete=complete)
        for entry in metric_file.entries(lines):
            yield {
                "replica": replica["name"],
                "metric": entry.metric,
                "value": entry.value,
                "step": entry.step,
                "time": entry.timestamp,
            }
