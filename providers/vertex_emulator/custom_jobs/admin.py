"""The admin view of jobs: GET /_local/jobs and GET /_local/jobs/ID."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.job_folder.progress import ReplicaProgress
from vertex_emulator.kernel import times
from vertex_emulator.vertex.records import Record

Records = Callable[[str | None], Sequence[Record]]
Replicas = Callable[[Record], Sequence[ReplicaProgress]]


def admin_routes(records: Records, replicas: Replicas) -> list[Route]:
    """`records` gives all jobs for None, or the one of an id if there is one."""

    def all_jobs(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"jobs": [_view(record, replicas(record)) for record in records(None)]})

    def one_job(_request: Request, match: re.Match[str]) -> Response:
        for record in records(match[1]):
            return json_response(_view(record, replicas(record)))
        raise HttpError(404, "", f"The emulator has no job {match[1]}. GET /_local/jobs lists those it has.")

    return [Route("GET", "/_local/jobs", all_jobs), Route("GET", r"/_local/jobs/([0-9]+)", one_job)]


def _view(record: Record, replicas: Sequence[ReplicaProgress]) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "project": record.project,
        "displayName": record.message.display_name,
        "state": record.state,
        "created": times.of_microseconds(record.created),
        "error": record.message.error.message or None,
        "replicas": [
            {
                "name": replica.name,
                "role": replica.role,
                "state": replica.state,
                "pid": replica.pid,
                "exitCode": replica.exit_code,
                "started": replica.started,
                "ended": replica.ended,
                "attempt": replica.attempt,
                "jobAttempt": replica.job_attempt,
            }
            for replica in replicas
        ],
    }
