"""The spec of a schedule, its normal form, and the effect of each change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

from vertex_training.catalog import api
from vertex_training.fields.cron import DEFAULT_TIME_ZONE
from vertex_training.fields.durations import in_seconds, seconds_text
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable
from vertex_training.fields.values import Unknown

DEFAULT_DEADLINE = "180s"
ALLOW = "allow"
"""The policy of a schedule whose runs start beside others."""


@dataclass(frozen=True, kw_only=True)
class RetryConfig:
    """Attempts after a failed call. They concern the call that submits a run, not a run that fails."""

    retry_count: int = 0
    """Number of attempts after the first one failed, up to 5. A call whose answer was lost may have submitted
    a run, so a retry can start a second one.
    """
    max_retry_duration: str = field(default="0s", metadata={"convert": seconds_text})
    """Longest time for all attempts, such as "600s". 0s is no limit."""
    min_backoff_duration: str = field(default="5s", metadata={"convert": seconds_text})
    """Shortest time between two attempts."""
    max_backoff_duration: str = field(default="3600s", metadata={"convert": seconds_text})
    """Longest time between two attempts."""
    max_doublings: int = 5
    """How often the time between two attempts doubles."""


def request_text(value: object) -> object:
    """Return a request as JSON text with sorted keys; any other value unchanged, unknown if a part is."""
    if not isinstance(value, Mapping):
        return value
    unknown = _unknown_in(value)
    if unknown is not None:
        return unknown
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"))


def request_of(text: str) -> dict[str, Any]:
    """Return a request from its text; {} for an empty text."""
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings:
    """The settings of a schedule that a program gives."""

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset({"app_engine_http_target", "pubsub_target"})
    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["Job"]

    schedule_id: str
    """Id of the job of Cloud Scheduler. Default: see docs/guides/programs/previews.md#ids.
    """
    location: str
    """Location of the schedule. Default: the location of the job."""
    schedule: str
    """Cron expression with five fields: minute, hour, day of the month, month and day of the week. "0 3 * *
    *" is 03:00 each day.
    """
    time_zone: str = DEFAULT_TIME_ZONE
    """Time zone of the expression, such as Europe/Berlin. Default: Etc/UTC, which has no daylight saving
    time.
    """
    paused: bool = False
    """Start no runs until this is False again. Runs that have begun go on."""
    overlap: str = ALLOW
    """Policy for a run of this schedule that is live when the next one is due. Only `allow` (default): the
    next one starts beside it, because Cloud Scheduler does not know which runs are live.
    """
    service_account: str | None = None
    """Service account that submits the runs, or its e-mail address. Required on Google Cloud."""
    description: str = ""
    """Description of the schedule."""
    retry_config: RetryConfig | None = None
    """Attempts after a failed call, such as `{"retry_count": 3}`. Default: none."""
    attempt_deadline: str = field(default=DEFAULT_DEADLINE, metadata={"convert": seconds_text})
    """Longest time for one call, from 15 seconds to 30 minutes. Default: 3 minutes."""
    on_delete: Literal["keep", "delete"] = "keep"
    """Effect of destroying the schedule on its runs: `keep` (default) leaves them, and live ones go on;
    `delete` cancels live runs and deletes the records of all.
    """


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec(ScheduleSettings):
    """A schedule that submits a job's request again and again.

    `collection` and `parent` are the place of its jobs, `request` is its JSON text with sorted keys.
    """

    collection: str = "customJobs"
    parent: str = ""
    request: str = field(default="", metadata={"convert": request_text})


Schedule = TypeVar("Schedule", bound=ScheduleSpec)

_IN_PLACE = FieldEffect(effect=Effect.UPDATE, reason="a schedule's settings can change in place")
_REQUEST = FieldEffect(effect=Effect.UPDATE, reason="the next run has the job's new request")

EFFECTS: FieldTable = MappingProxyType(
    {
        "schedule_id": FieldEffect(effect=Effect.REPLACE, reason="a schedule cannot be renamed"),
        "location": FieldEffect(effect=Effect.REPLACE, reason="a schedule cannot move"),
        **dict.fromkeys(
            (
                "schedule",
                "time_zone",
                "paused",
                "overlap",
                "service_account",
                "description",
                "retry_config.retry_count",
                "retry_config.max_retry_duration",
                "retry_config.min_backoff_duration",
                "retry_config.max_backoff_duration",
                "retry_config.max_doublings",
                "attempt_deadline",
                "on_delete",
            ),
            _IN_PLACE,
        ),
        **dict.fromkeys(("collection", "parent", "request"), _REQUEST),
        **dict.fromkeys(
            sorted(ScheduleSettings.SERVER_OWNED),
            FieldEffect(effect=Effect.SERVER, reason="only the service sets it"),
        ),
    }
)


def full_name(project: str, location: str, schedule_id: str) -> str:
    """Return the name of the schedule in the API of Cloud Scheduler."""
    return f"projects/{project}/locations/{location}/jobs/{schedule_id}"


def normalise(spec: Schedule) -> Schedule:
    """Return the normal form: one space between fields, names in upper case, durations in seconds."""
    retry = spec.retry_config
    return replace(
        spec,
        location=spec.location.lower(),
        schedule=" ".join(spec.schedule.upper().split()),
        time_zone=spec.time_zone or DEFAULT_TIME_ZONE,
        service_account=spec.service_account or None,
        attempt_deadline=in_seconds(spec.attempt_deadline),
        retry_config=None
        if retry is None or retry == RetryConfig()
        else replace(
            retry,
            max_retry_duration=in_seconds(retry.max_retry_duration),
            min_backoff_duration=in_seconds(retry.min_backoff_duration),
            max_backoff_duration=in_seconds(retry.max_backoff_duration),
        ),
    )


def _unknown_in(value: object) -> Unknown | None:
    if isinstance(value, Unknown):
        return value
    items = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    )
    return next((found for item in items if (found := _unknown_in(item)) is not None), None)


def _whole(value: object) -> Any:
    """Return plain values with whole numbers as integers: Pulumi sends every number as a float."""
    if isinstance(value, Mapping):
        return {str(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
