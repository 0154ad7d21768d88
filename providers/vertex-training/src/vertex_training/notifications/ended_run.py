"""The facts about the end of a run: as JSON, as variables, and as an incident of Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vertex_training.notifications.notification import EVENTS, Event

VARIABLE_PREFIX = "VERTEX_TRAINING_RUN_"
_LONGEST_ERROR = 8192
_LONGEST_VARIABLE = 16384


@dataclass(frozen=True, kw_only=True)
class EndedRun:
    """The end of a run. `job` is the full name; `kind` such as "CustomJob". Texts without a value are "".

    `program` and `stack` are Pulumi's names, `resource` is the name in the program. `run` is the key of the
    run. Times are RFC 3339.
    """

    event: Event
    state: str
    job: str
    kind: str
    display_name: str
    project: str
    location: str
    resource: str = ""
    stack: str = ""
    program: str = ""
    run: str = ""
    error: str = ""
    create_time: str = ""
    start_time: str = ""
    end_time: str = ""
    output_directory: str = ""

    @property
    def job_id(self) -> str:
        return self.job.rpartition("/")[2]

    @property
    def summary(self) -> str:
        """One sentence about the end."""
        return f"{self.resource or self.display_name}: {self.kind} {self.job_id} {_WORDS[self.event]}"

    def facts(self) -> Mapping[str, str]:
        """Return the facts by name."""
        return {
            "event": self.event,
            "state": self.state,
            "job": self.job,
            "job_id": self.job_id,
            "kind": self.kind,
            "display_name": self.display_name,
            "project": self.project,
            "location": self.location,
            "resource": self.resource,
            "stack": self.stack,
            "program": self.program,
            "run": self.run,
            "error": self.error[:_LONGEST_ERROR],
            "create_time": self.create_time,
            "start_time": self.start_time,
            "end_time": self.end_time,
            "output_directory": self.output_directory,
        }


_WORDS: Mapping[Event, str] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "was cancelled",
}


def event_of(state: str) -> Event | None:
    """Return the event of a state such as JOB_STATE_FAILED or PIPELINE_STATE_FAILED; None for any other."""
    word = state.rpartition("_STATE_")[2].lower()
    return next((event for event in EVENTS if event == word), None)


def variables(facts: Mapping[str, str], *, delivery: str) -> dict[str, str]:
    """Return the facts as environment variables; line breaks stay, a NUL character becomes a blank."""
    values = {**facts, "delivery": delivery}
    return {
        f"{VARIABLE_PREFIX}{name.upper()}": value.replace("\0", " ")[:_LONGEST_VARIABLE]
        for name, value in values.items()
    }


def document(facts: Mapping[str, str], *, delivery: str) -> dict[str, Any]:
    """Return the facts as a JSON object, with the id that all attempts of a delivery share."""
    return {"delivery": delivery, **facts}


def incident(facts: Mapping[str, str], summary: str, *, delivery: str, started_at: int) -> dict[str, Any]:
    """Return what a webhook gets: the form of Cloud Monitoring, version 1.2, and the facts as `run`.

    A receiver that reads an incident of Cloud Monitoring finds the same names here. `started_at` is in
    seconds since 1970.
    """
    labels = {"project_id": facts["project"], "job_id": facts["job_id"]}
    return {
        "version": "1.2",
        "incident": {
            "incident_id": delivery,
            "scoping_project_id": facts["project"],
            "state": "open",
            "started_at": started_at,
            "ended_at": None,
            "summary": summary,
            "policy_name": f"{facts['resource'] or facts['display_name']}: end of a run",
            "condition_name": f"job {facts['event']}",
            "resource": {"type": "ml_job", "labels": labels},
            "documentation": {"content": summary, "mime_type": "text/markdown", "subject": summary},
        },
        "run": document(facts, delivery=delivery),
    }
