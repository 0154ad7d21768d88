"""Calls that only the emulator has, such as the state of each replica of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from vertex_training.fields import timestamps


@dataclass(frozen=True, kw_only=True)
class ReplicaState:
    """The state of one replica, such as "workerpool1-0".

    `state` is pending, running, restarting, succeeded, failed, or stopped, that is, ended because the job
    ended. `exit_code` is None until the replica has ended, and 128 + N after signal N. `attempt` counts its
    starts so far, `job_attempt` is the job's attempt that it belongs to, from 1.
    """

    name: str
    role: str
    state: str
    exit_code: int | None = None
    attempt: int = 0
    job_attempt: int = 1


def replicas(endpoint: Endpoint, job_id: str) -> tuple[ReplicaState, ...] | None:
    """Return the replicas of a job by name; None on Google Cloud, which does not report them.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not endpoint.is_emulator:
        return None
    with translated(endpoint, f"read the replicas of custom job {job_id}"):
        job = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/jobs/{job_id}")
    return tuple(
        ReplicaState(
            name=str(one["name"]),
            role=str(one.get("role", "")),
            state=str(one.get("state", "")),
            exit_code=one.get("exitCode"),
            attempt=int(one.get("attempt", 0)),
            job_attempt=int(one.get("jobAttempt", 1)),
        )
        for one in job.get("replicas", [])
    )


@dataclass(frozen=True, kw_only=True)
class ReplicaUse:
    """CPU seconds since the start of a replica, and resident bytes, of all its processes."""

    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class UsageSample:
    """The use of each running replica by name at a time in seconds since 1970."""

    at: float
    replicas: Mapping[str, ReplicaUse]


def usage(endpoint: Endpoint, job_id: str) -> tuple[UsageSample, ...]:
    """Return what the replicas of a custom job used whenever this was asked; nothing on Google Cloud.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not endpoint.is_emulator:
        return ()
    with translated(endpoint, f"read the use of custom job {job_id}"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/jobs/{job_id}/usage")
    return tuple(
        UsageSample(
            at=float(one["at"]),
            replicas={
                name: ReplicaUse(cpu_seconds=float(use["cpuSeconds"]), memory_bytes=int(use["memoryBytes"]))
                for name, use in one["replicas"].items()
            },
        )
        for one in answer.get("samples", ())
    )


def processes(endpoint: Endpoint, job_id: str) -> Mapping[str, int]:
    """Return the process of each running replica of a custom job by name. Raises as `usage`."""
    with translated(endpoint, f"read the replicas of custom job {job_id}"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/jobs/{job_id}")
    return {
        str(one["name"]): int(one["pid"])
        for one in answer["replicas"]
        if one["state"] == "running" and one["pid"]
    }


def metric_reports(endpoint: Endpoint, job_id: str) -> Sequence[Mapping[str, Any]]:
    """Return what the replicas of a custom job have reported with `cloudml-hypertune`, in the order of lines.

    Each has `replica`, `metric`, `value`, `step` and `time`. It is empty on Google Cloud. Raises the
    errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not endpoint.is_emulator:
        return ()
    with translated(endpoint, f"read the metrics of custom job {job_id}"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/jobs/{job_id}/metric-reports")
    found: Sequence[Mapping[str, Any]] = answer.get("reports", ())
    return found


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A notification of the end of a job, sent to one target of its declaration.

    `target` is the target's place there, such as "notifications[0].webhook". `state` is pending, delivered or
    failed, that is, given up after `most_attempts`. `error` is about the last attempt, "" if it succeeded.
    """

    target: str
    event: str
    state: str
    attempts: int
    most_attempts: int
    error: str = ""
    next_attempt: str = ""
    end_time: str = ""


def deliveries(endpoint: Endpoint, job: str) -> tuple[Delivery, ...]:
    """Return the notifications of the end of a job, by its full name; none on Google Cloud.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not endpoint.is_emulator:
        return ()
    collection, job_id = job.split("/")[-2:]
    with translated(endpoint, f"read the notifications of job {job_id}"):
        url = f"{endpoint.vertex_url}/_local/notifications/{collection}/{job_id}"
        answer = rest.call(endpoint, "GET", url)
    return tuple(
        Delivery(
            target=str(one["target"]),
            event=str(one["event"]),
            state=str(one["state"]),
            attempts=int(one["attempts"]),
            most_attempts=int(one["mostAttempts"]),
            error=str(one.get("error", "")),
            next_attempt=str(one.get("nextAttempt", "")),
            end_time=str(one.get("endTime", "")),
        )
        for one in answer.get("deliveries", [])
    )


def waiting_jobs(endpoint: Endpoint) -> Mapping[str, str]:
    """Return what custom jobs of the emulator wait for, by id, such as replica slots; none on Google Cloud.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not endpoint.is_emulator:
        return {}
    with translated(endpoint, "read what jobs wait for"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/waiting-jobs")
    return {str(job_id): str(reason) for job_id, reason in answer.get("jobs", {}).items()}


def python(endpoint: Endpoint) -> str:
    """Return the path of the Python that runs the emulator.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    with translated(endpoint, "ask for the emulator's Python"):
        info = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/info")
    return str(info["python"])


_EVERYTHING = "*"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes of the emulator since an earlier look.

    `instance` names its start, `number` its last change. `names` are the changed resources: of jobs and their
    replicas "customJobs/123", "" of other things, such as buckets. It is None if all may have changed.
    """

    instance: str
    number: int
    names: tuple[str, ...] | None

    @property
    def is_everything(self) -> bool:
        """True if all may have changed."""
        return self.names is None or _EVERYTHING in self.names


def changes_after(endpoint: Endpoint, known: Changes | None, *, wait_seconds: int = 0) -> Changes:
    """Return what changed on the emulator since an earlier look, and wait for the first change.

    Lines of logs do not count. Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    query: dict[str, int] = {"waitSeconds": wait_seconds}
    if known is not None:
        query["after"] = known.number
    with translated(endpoint, "read the emulator's state"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/changes", query=query)
    instance, names = str(answer.get("instance", "")), answer.get("names")
    if names is None or (known is not None and instance != known.instance):
        return Changes(instance=instance, number=int(answer["number"]), names=None)
    return Changes(instance=instance, number=int(answer["number"]), names=tuple(map(str, names)))


def changes(endpoint: Endpoint) -> tuple[str, int]:
    """Return a value that differs once a job, replica, bucket, object or image of the emulator has changed.

    Lines of logs do not count. Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    found = changes_after(endpoint, None)
    return found.instance, found.number


def clock_ahead(endpoint: Endpoint) -> float:
    """Return the seconds by which the emulator's clock is ahead of the machine's, 0 unless it was moved.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    with translated(endpoint, "read the emulator's clock"):
        clock = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/_local/clock")
    return (timestamps.parse(clock["time"]) - timestamps.parse(clock["realTime"])).total_seconds()
