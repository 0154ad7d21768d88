"""Custom jobs of Vertex AI. What goes in and comes out is the API's JSON form (lowerCamelCase keys).

All functions raise the errors of `vertex_training.cloud.errors`.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vertex_training.cloud import clients, operations, rest, retry
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import Internal, InvalidArgument, Unavailable, UnexpectedAnswer
from vertex_training.cloud.lean_import import import_lean
from vertex_training.cloud.translation import translated

DELETE_SECONDS = 60.0
"""How long `delete` waits for its operation."""

_PAGE_SIZE = 500


class JobState(enum.Enum):
    """The states of the service, under the service's names."""

    JOB_STATE_UNSPECIFIED = 0
    JOB_STATE_QUEUED = 1
    JOB_STATE_PENDING = 2
    JOB_STATE_RUNNING = 3
    JOB_STATE_SUCCEEDED = 4
    JOB_STATE_FAILED = 5
    JOB_STATE_CANCELLING = 6
    JOB_STATE_CANCELLED = 7
    JOB_STATE_PAUSED = 8
    JOB_STATE_EXPIRED = 9
    JOB_STATE_UPDATING = 10
    JOB_STATE_PARTIALLY_SUCCEEDED = 11

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended: it does not change again."""
        return self in _TERMINAL

    @property
    def word(self) -> str:
        """For people, "RUNNING"."""
        return self.name.removeprefix("JOB_STATE_")


_TERMINAL = frozenset(
    {
        JobState.JOB_STATE_SUCCEEDED,
        JobState.JOB_STATE_FAILED,
        JobState.JOB_STATE_CANCELLED,
        JobState.JOB_STATE_EXPIRED,
        JobState.JOB_STATE_PARTIALLY_SUCCEEDED,
    }
)


@dataclass(frozen=True, kw_only=True)
class JobError:
    """Why a job failed or was cancelled, in the service's words; `code` is one of google.rpc.Code."""

    code: int
    message: str


@dataclass(frozen=True, kw_only=True)
class JobRecord:
    """A job as the service reports it. Times are RFC 3339 strings, None before the event.

    `name` is the full resource name, with the project's number; `wire` is the whole message as JSON.
    """

    name: str
    display_name: str
    state: JobState
    create_time: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    update_time: str | None = None
    error: JobError | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def job_id(self) -> str:
        """The last part of the name: 18 or 19 digits."""
        return self.name.rpartition("/")[2]


def create(endpoint: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
    """Submit a job. Never tried twice: the service has no request id, so a second try could be a second job.

    Raises Unavailable where it is not known whether the job was submitted; `list_by_label` tells.
    """
    from google.protobuf import json_format

    job_type = _types().CustomJob
    message = job_type.pb(job_type())
    try:
        json_format.ParseDict(dict(wire), message)
    except json_format.ParseError as error:
        raise InvalidArgument(
            f"Could not submit a custom job ({endpoint}): {str(error).partition(chr(10))[0]}",
            endpoint=endpoint,
        ) from error
    action = f"submit custom job {message.display_name!r}"
    try:
        with translated(endpoint, action):
            answer = clients.job_service(endpoint).create_custom_job(
                parent=endpoint.parent, custom_job=job_type.wrap(message), timeout=retry.CALL_TIMEOUT
            )
            return _record(answer)
    except (Unavailable, Internal, UnexpectedAnswer) as error:
        cause = error.__cause__
        if cause is None or retry.was_refused(cause):
            raise
        raise Unavailable(
            f"{error} It may have been submitted nevertheless: `vertex-training jobs` shows it then.",
            code=error.code,
            reason=error.reason,
            resource=error.resource,
            endpoint=endpoint,
        ) from cause


def get(endpoint: Endpoint, name: str) -> JobRecord:
    """One job by its full name. Raises NotFound."""
    with translated(endpoint, f"read custom job {_short(name)}", if_missing=_LIST_THEM):
        return _record(
            clients.job_service(endpoint).get_custom_job(
                name=name, retry=retry.for_idempotent(endpoint), timeout=retry.CALL_TIMEOUT
            )
        )


def list_jobs(endpoint: Endpoint, *, filter_: str = "") -> list[JobRecord]:
    """The jobs of the endpoint's project and location that match the filter (AIP-160), newest first.

    Read as JSON: a preview lists the jobs, and does not wait for Google's client to be imported.
    """
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/customJobs"
    with translated(endpoint, "list the custom jobs"):
        pages = rest.pages(endpoint, address, query={"filter": filter_ or None, "pageSize": _PAGE_SIZE})
        records = [from_wire(job) for page in pages for job in page.get("customJobs", [])]
    return sorted(records, key=lambda record: record.create_time or "", reverse=True)


def list_by_label(endpoint: Endpoint, labels: Mapping[str, str]) -> list[JobRecord]:
    """The jobs that carry all of these labels, in any state, newest first."""
    found = list_jobs(endpoint, filter_=" AND ".join(_label_terms(labels)))
    return [record for record in found if labels.items() <= record.labels.items()]


def list_labelled(endpoint: Endpoint, label: str) -> list[JobRecord]:
    """The jobs that carry a label of this name, whatever its value, in any state, newest first."""
    return [record for record in list_jobs(endpoint, filter_=f"labels.{label}:*") if label in record.labels]


def list_live_labelled(endpoint: Endpoint, label: str) -> list[JobRecord]:
    """The jobs that carry a label of this name and have not ended, newest first."""
    found = list_jobs(endpoint, filter_=" AND ".join([*_NOT_ENDED, f"labels.{label}:*"]))
    return [record for record in found if not record.state.is_terminal and label in record.labels]


def list_live(endpoint: Endpoint, *, labels: Mapping[str, str] | None = None) -> list[JobRecord]:
    """The jobs that have not ended, newest first."""
    labels = labels or {}
    found = list_jobs(endpoint, filter_=" AND ".join([*_NOT_ENDED, *_label_terms(labels)]))
    return [
        record for record in found if not record.state.is_terminal and labels.items() <= record.labels.items()
    ]


def list_by_display_name(endpoint: Endpoint, display_name: str) -> list[JobRecord]:
    """The jobs of exactly this display name, which need not be unique, newest first."""
    found = list_jobs(endpoint, filter_=f"display_name={_quoted(display_name)}")
    return [record for record in found if record.display_name == display_name]


def cancel(endpoint: Endpoint, name: str) -> None:
    """Ask the job to stop; it does so later. Raises FailedPrecondition when it has ended, NotFound."""
    with translated(endpoint, f"cancel custom job {_short(name)}", if_missing=_LIST_THEM):
        clients.job_service(endpoint).cancel_custom_job(
            name=name, retry=retry.for_idempotent(endpoint), timeout=retry.CALL_TIMEOUT
        )


def delete(
    endpoint: Endpoint,
    name: str,
    *,
    timeout: float = DELETE_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Delete the record of a job that has ended, and wait until it is gone.

    Raises NotFound when it was gone before, FailedPrecondition while the job lives, DeadlineExceeded after
    `timeout` seconds.
    """
    action = f"delete custom job {_short(name)}"
    with translated(endpoint, action):
        operation = rest.call(endpoint, "DELETE", f"{endpoint.vertex_url}/v1/{name}")
    operations.wait(endpoint, operation, action=action, timeout=timeout, clock=clock, sleep=sleep)


_NOT_ENDED = tuple(f'state!="JOB_STATE_{word}"' for word in ("SUCCEEDED", "FAILED", "CANCELLED"))
"""The ends that are known of custom jobs, as terms of a filter; the rarer ones are sorted out here."""

_LIST_THEM = "`vertex-training jobs` lists the jobs."


def _types() -> Any:
    return import_lean("google.cloud.aiplatform_v1.types.custom_job")


def _record(job: Any) -> JobRecord:
    """From the client's message."""
    from google.protobuf import json_format

    return from_wire(json_format.MessageToDict(type(job).pb(job)))


def from_wire(wire: Mapping[str, Any]) -> JobRecord:
    """From the JSON form of a CustomJob as the service returns it."""
    error = wire.get("error")
    return JobRecord(
        name=str(wire.get("name", "")),
        display_name=str(wire.get("displayName", "")),
        state=_state(wire.get("state")),
        create_time=wire.get("createTime"),
        start_time=wire.get("startTime"),
        end_time=wire.get("endTime"),
        update_time=wire.get("updateTime"),
        error=JobError(code=int(error.get("code", 0)), message=str(error.get("message", "")))
        if error
        else None,
        labels=dict(wire.get("labels", {})),
        wire=dict(wire),
    )


def _state(value: object) -> JobState:
    """A state that is newer than this program counts as not ended."""
    if isinstance(value, str):
        return JobState.__members__.get(value, JobState.JOB_STATE_UNSPECIFIED)
    return JobState.JOB_STATE_UNSPECIFIED


def _label_terms(labels: Mapping[str, str]) -> list[str]:
    return [f"labels.{key}={_quoted(value)}" for key, value in sorted(labels.items())]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _short(name: str) -> str:
    return name.rpartition("/")[2]
