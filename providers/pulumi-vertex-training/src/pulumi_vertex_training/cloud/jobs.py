"""One client for all jobs of Vertex AI, and the persistent resources that they run on.

Arguments and results are in the API's JSON form (lowerCamelCase keys). All methods raise the errors of
`pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from vertex_emulator import machine_clock
from vertex_training.fields import resource_names
from vertex_training.fields.resource_names import resource_id


class JobState(enum.Enum):
    """The states of jobs, named as in the service."""

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
        """True if the job has ended: its state does not change again."""
        return self in _TERMINAL

    @property
    def word(self) -> str:
        """The state for people, such as "RUNNING"."""
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
    """The reason why a job failed or was cancelled, by the service; `code` is one of google.rpc.Code."""

    code: int
    message: str


@dataclass(frozen=True, kw_only=True)
class JobRecord:
    """A job as reported by the service. Times are RFC 3339 strings, or None before the event.

    `name` is the full resource name, with the project's number; `wire` is the whole message as JSON. A
    pipeline's state is mapped to the JobState with the same ending; `state_name` has the service's own.
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
        return resource_id(self.name)

    @property
    def collection(self) -> str:
        """The part of the name before the id, such as "customJobs"; "" for a bare id."""
        return resource_names.collection(self.name)

    @property
    def state_name(self) -> str:
        """The state's name in the service, such as JOB_STATE_RUNNING or PIPELINE_STATE_RUNNING."""
        reported = self.wire.get("state")
        return reported if _state(reported) is self.state and isinstance(reported, str) else self.state.name


@dataclass(frozen=True, kw_only=True)
class JobClient:
    """The calls for one kind of job.

    `noun` is the kind's name in messages, `collection` its part of the address ("customJobs"), `states` the
    prefix of its states.
    """

    noun: str
    collection: str
    states: str = "JOB_STATE_"
    page_size: int = 500

    def create(self, endpoint: Endpoint, wire: Mapping[str, Any]) -> JobRecord:
        """Submit a job, without retries: there are no request ids, so a retry could create a second job.

        Raises Unavailable if it is unknown whether the job was submitted; `list_by_label` finds it then.
        """
        return from_wire(
            rest.create(
                endpoint,
                f"{endpoint.vertex_url}/v1/{endpoint.parent}/{self.collection}",
                action=f"submit {self.noun} {str(wire.get('displayName', ''))!r}",
                body=wire,
                if_lost="It may have been submitted anyway. To check, run `vertex-training jobs`.",
            )
        )

    def get(self, endpoint: Endpoint, name: str) -> JobRecord:
        """Return a job by its full name. Raises NotFound."""
        with translated(endpoint, f"read {self.noun} {resource_id(name)}", if_missing=_LIST_THEM):
            return from_wire(rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{name}"))

    def list_jobs(self, endpoint: Endpoint, *, filter_: str = "", fields: str = "") -> list[JobRecord]:
        """Return the jobs of the endpoint's project and location that match the filter, newest first.

        `filter_` has the syntax of AIP-160. `fields` are the fields to read, with commas, by default all.
        """
        address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/{self.collection}"
        with translated(endpoint, f"list the {self.noun}s"):
            pages = rest.pages(
                endpoint,
                address,
                query={"filter": filter_ or None, "readMask": fields or None, "pageSize": self.page_size},
            )
            records = [from_wire(job) for page in pages for job in page.get(self.collection, [])]
        return sorted(records, key=lambda record: record.create_time or "", reverse=True)

    def list_by_label(self, endpoint: Endpoint, labels: Mapping[str, str]) -> list[JobRecord]:
        """Return the jobs with all of these labels, in any state, newest first."""
        found = self.list_jobs(endpoint, filter_=" AND ".join(_label_terms(labels)))
        return [record for record in found if labels.items() <= record.labels.items()]

    def list_labelled(self, endpoint: Endpoint, label: str) -> list[JobRecord]:
        """Return the jobs with a label of this name and any value, in any state, newest first."""
        found = self.list_jobs(endpoint, filter_=f"labels.{label}:*")
        return [record for record in found if label in record.labels]

    def list_live(self, endpoint: Endpoint, *, labels: Mapping[str, str] | None = None) -> list[JobRecord]:
        """Return the jobs that have not ended, newest first."""
        labels = labels or {}
        # the final states that every kind has; rarer ones are left out below
        ended = [f'state!="{self.states}{word}"' for word in ("SUCCEEDED", "FAILED", "CANCELLED")]
        found = self.list_jobs(endpoint, filter_=" AND ".join([*ended, *_label_terms(labels)]))
        return [
            record
            for record in found
            if not record.state.is_terminal and labels.items() <= record.labels.items()
        ]

    def list_by_display_name(self, endpoint: Endpoint, display_name: str) -> list[JobRecord]:
        """Return the jobs with exactly this display name, which need not be unique, newest first."""
        found = self.list_jobs(endpoint, filter_=f"display_name={_quoted(display_name)}")
        return [record for record in found if record.display_name == display_name]

    def cancel(self, endpoint: Endpoint, name: str) -> None:
        """Request that a job stops; it stops later. Raises FailedPrecondition if it has ended, NotFound."""
        with translated(endpoint, f"cancel {self.noun} {resource_id(name)}", if_missing=_LIST_THEM):
            rest.call(endpoint, "POST", f"{endpoint.vertex_url}/v1/{name}:cancel", body={})

    def delete(
        self,
        endpoint: Endpoint,
        name: str,
        *,
        clock: Callable[[], float] = machine_clock.monotonic,
        sleep: Callable[[float], None] = machine_clock.sleep,
    ) -> None:
        """Delete the record of a job that has ended, and wait until it is gone.

        Raises NotFound if it did not exist, FailedPrecondition while the job is live, DeadlineExceeded if it
        takes too long.
        """
        action = f"delete {self.noun} {resource_id(name)}"
        with translated(endpoint, action):
            operation = rest.call(endpoint, "DELETE", f"{endpoint.vertex_url}/v1/{name}")
        timeout = endpoint.timeouts.record_deletion
        rest.wait(endpoint, operation, action=action, timeout=timeout, clock=clock, sleep=sleep)


_LIST_THEM = "`vertex-training jobs` lists the jobs."


def from_wire(wire: Mapping[str, Any]) -> JobRecord:
    """Return the record of a job in the JSON form that the service returns."""
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
    """Return the state; a state that is newer than this program counts as not ended."""
    word = value.rpartition("STATE_")[2] if isinstance(value, str) else ""
    return JobState.__members__.get(f"JOB_STATE_{word}", JobState.JOB_STATE_UNSPECIFIED)


def _label_terms(labels: Mapping[str, str]) -> list[str]:
    return [f"labels.{key}={_quoted(value)}" for key, value in sorted(labels.items())]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def get(endpoint: Endpoint, resource_id: str) -> rest.Json:
    """Return a persistent resource of the endpoint's project and location as JSON. Raises NotFound."""
    url = f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources/{resource_id}"
    with translated(endpoint, f"read persistent resource {resource_id}"):
        return rest.call(endpoint, "GET", url)
