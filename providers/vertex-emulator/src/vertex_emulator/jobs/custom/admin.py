"""Admin paths of custom jobs: progress, orders to a replica, the form of CLUSTER_SPEC."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from vertex_emulator.job_folder import folder
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.progress import ReplicaProgress
from vertex_emulator.jobs.custom import store
from vertex_emulator.kernel import times
from vertex_emulator.kernel.disk.disk_space import disk_space
from vertex_emulator.replicas.supervisor import orders
from vertex_emulator.replicas.supervisor.orders import Order, OrderKind
from vertex_emulator.server.http.bodies import body_of, seconds, whole_number
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.http.settings import Setting, choice
from vertex_emulator.services.resource_engine.records import Record
from vertex_training.findings.words import did_you_mean
from vertex_training.replica_environment.replica import Contract

Records = Callable[[str | None], Sequence[Record]]
Replicas = Callable[[Record], Sequence[ReplicaProgress]]


def admin_routes(
    records: Records,
    replicas: Replicas,
    folder_of: Callable[[str], JobFolder],
    live: Callable[[], Sequence[Record]],
    reasons: Callable[[], Mapping[str, str]],
) -> list[Route]:
    """Return the routes of the jobs' progress.

    `records` returns all jobs if called with None, else the job with that id or nothing. `live` returns the
    jobs that have started and not ended, and `reasons` why the others wait, by id.
    """

    def all_jobs(_request: Request, _match: re.Match[str]) -> Response:
        waits = reasons()
        views = [
            _view(record, replicas(record), waits_for=_waits_for(record, folder_of(record.id), waits))
            for record in records(None)
        ]
        return json_response({"jobs": views})

    def one_job(_request: Request, match: re.Match[str]) -> Response:
        for record in records(match[1]):
            waits = {} if record.state in store.TERMINAL else reasons()
            waits_for = _waits_for(record, folder_of(record.id), waits)
            return json_response(_view(record, replicas(record), waits_for=waits_for))
        raise HttpError(404, "", f"The emulator has no job {match[1]}. GET /_local/jobs lists its jobs.")

    def waiting(_request: Request, _match: re.Match[str]) -> Response:
        started = {record.id: _waits_for(record, folder_of(record.id), {}) for record in live()}
        return json_response({"jobs": {**{id_: why for id_, why in started.items() if why}, **reasons()}})

    return [
        Route("GET", "/_local/jobs", all_jobs),
        Route("GET", r"/_local/jobs/([0-9]+)", one_job),
        Route("GET", "/_local/waiting-jobs", waiting),
    ]


def _waits_for(record: Record, job_folder: JobFolder, waits: Mapping[str, str]) -> str | None:
    """Return what a live job waits for, or None. `waits` has the reasons of the jobs in the queue, by id."""
    if record.state in store.TERMINAL:
        return None
    if record.id in waits:
        return waits[record.id]
    if job_folder.unreported is not None:
        return f"space on the disk of the emulator's data folder ({disk_space(job_folder.path)})"
    return "its replicas to start" if record.state == store.PENDING else None


def _view(record: Record, replicas: Sequence[ReplicaProgress], *, waits_for: str | None) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "project": record.project,
        "displayName": record.message.display_name,
        "labels": dict(record.message.labels),
        "state": record.state,
        "created": times.from_microseconds(record.created),
        "error": record.message.error.message or None,
        "waitsFor": waits_for,
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


MOST_TIMES = 1000


def replica_routes(records: Records, folder_of: Callable[[str], JobFolder]) -> list[Route]:
    """Return the routes that kill or preempt a replica, or tell how to reach its network.

    `records` returns the current record of the job with an id, or nothing.
    """
    lock = threading.Lock()

    def kill(request: Request, match: re.Match[str]) -> Response:
        body = body_of(request, "after", "times", "outOfMemory")
        if not isinstance(body.get("outOfMemory", False), bool):
            raise HttpError(400, "", "outOfMemory must be true or false.")
        return ordered("out_of_memory" if body.get("outOfMemory") else "kill", match, body)

    def preempt(request: Request, match: re.Match[str]) -> Response:
        return ordered("preempt", match, body_of(request, "after", "times"))

    def ordered(kind: OrderKind, match: re.Match[str], body: Mapping[str, Any]) -> Response:
        record = _live(records, match[1])
        order = Order(
            kind=kind,
            replica=_replica(match[2], folder_of(record.id)),
            after=seconds(body, "after", default=0.0),
            times=whole_number(body, "times", least=1, most=MOST_TIMES, default=1),
        )
        if record.state == store.CANCELLING:
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"The job {record.id} is being cancelled, which ends its replicas: with SIGTERM, and with "
                "SIGKILL after their grace time. Wait for its end.",
            )
        with lock:
            orders.add(folder_of(match[1]), order)
        return json_response(asdict(order))

    def network(_request: Request, match: re.Match[str]) -> Response:
        job_folder = folder_of(_live(records, match[1]).id)
        name = _replica(match[2], job_folder)
        if (folder.read_json(job_folder.plan) or {}).get("network", "host") == "host":
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"The job {match[1]} uses the network of this machine: connect to the ports of {name} "
                "directly. Jobs that are created after `vertex-emulator network namespace` have "
                "a network of their own.",
            )
        return json_response({"replica": name, "folder": str(job_folder.path)})

    path = r"/_local/jobs/([0-9]+)/replicas/([^/]+)"
    return [
        Route("POST", f"{path}/kill", kill),
        Route("POST", f"{path}/preempt", preempt),
        Route("GET", f"{path}/network", network),
    ]


def _live(records: Records, job_id: str) -> Record:
    for record in records(job_id):
        if record.state in store.TERMINAL:
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"The job {job_id} is in state {record.state}: none of its replicas is running.",
            )
        return record
    raise HttpError(404, "", f"The emulator has no job {job_id}. GET /_local/jobs lists its jobs.")


def _replica(name: str, job_folder: JobFolder) -> str:
    names = [each["name"] for each in (folder.read_json(job_folder.plan) or {}).get("replicas", ())]
    if name in names:
        return name
    hint = did_you_mean(name, names)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise HttpError(404, "", f"The job has no replica {name!r}.{hint} It has {shown}.")


class ClusterContract(Setting[Contract]):
    """The form of CLUSTER_SPEC that new jobs get, of `vertex_training.replica_environment.cluster_variables`.

    It applies to jobs that are created after it was set.
    """

    path, key = "/_local/contract", "contract"

    def read(self, body: Mapping[str, Any]) -> Contract:
        return choice(body, "contract", get_args(Contract))
