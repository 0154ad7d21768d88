"""`/_local/jobs/JOB/replicas/REPLICA/kill` and `/preempt`: orders for one replica of a job."""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vertex_emulator.custom_jobs import states
from vertex_emulator.custom_jobs.supervisor import orders
from vertex_emulator.custom_jobs.supervisor.orders import Kind, Order
from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.http.numbers import body_of, number, seconds
from vertex_emulator.job_folder import folder
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.vertex.records import Record

MOST_TIMES = 1000

Records = Callable[[str | None], Sequence[Record]]


def replica_routes(records: Records, folder_of: Callable[[str], JobFolder]) -> list[Route]:
    """`records` gives the job of an id as it is now, if there is one."""
    lock = threading.Lock()

    def kill(request: Request, match: re.Match[str]) -> Response:
        body = body_of(request, "after", "times", "outOfMemory")
        if not isinstance(body.get("outOfMemory", False), bool):
            raise HttpError(400, "", "outOfMemory has to be true or false.")
        return ordered("out_of_memory" if body.get("outOfMemory") else "kill", match, body)

    def preempt(request: Request, match: re.Match[str]) -> Response:
        return ordered("preempt", match, body_of(request, "after", "times"))

    def ordered(kind: Kind, match: re.Match[str], body: Mapping[str, Any]) -> Response:
        times = number(body, "times", least=1, most=MOST_TIMES, what="a whole number", default=1)
        if times != int(times):
            raise HttpError(400, "", f"times has to be a whole number, not {times:g}.")
        order = Order(
            kind=kind,
            replica=_replica(match[2], folder_of(_live(records, match[1]))),
            after=seconds(body, "after", default=0.0),
            times=int(times),
        )
        with lock:
            orders.add(folder_of(match[1]), order)
        return json_response(asdict(order))

    path = r"/_local/jobs/([0-9]+)/replicas/([^/]+)"
    return [Route("POST", f"{path}/kill", kill), Route("POST", f"{path}/preempt", preempt)]


def _live(records: Records, job_id: str) -> str:
    for record in records(job_id):
        if record.state in states.TERMINAL:
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"The job {job_id} is in state {record.state}: nothing of it runs.",
            )
        return record.id
    raise HttpError(404, "", f"The emulator has no job {job_id}. GET /_local/jobs lists those it has.")


def _replica(name: str, job_folder: JobFolder) -> str:
    names = [each["name"] for each in (folder.read_json(job_folder.plan) or {}).get("replicas", ())]
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise HttpError(404, "", f"The job has no replica {name!r}.{hint} It has {shown}.")
