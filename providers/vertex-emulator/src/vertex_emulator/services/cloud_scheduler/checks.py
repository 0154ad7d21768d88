"""The checks and defaults of a job of Cloud Scheduler (Cloud Scheduler API v1, `Job`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vertex_emulator.server.own_api import is_own_host
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation
from vertex_training.fields import cron

_ID = re.compile(r"[a-zA-Z0-9_-]{1,500}")
_LONGEST_DESCRIPTION = 500
_BODY_BYTES = 1 << 20
_SHORTEST_DEADLINE, _LONGEST_DEADLINE = 15, 1800
_MOST_RETRIES = 5
_DEFAULT_DEADLINE = 180
_DEFAULT_DOUBLINGS, _DEFAULT_MIN_BACKOFF, _DEFAULT_MAX_BACKOFF = 5, 5, 3600
_POST = 1


def check_id(job_id: str) -> None:
    """Check the last part of a job's name. Raises `RpcError` INVALID_ARGUMENT."""
    if not _ID.fullmatch(job_id):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"Job ID {job_id!r} must have 1 to 500 letters, digits, hyphens and underscores.",
        )


def zone_of(job: DynamicMessage) -> tzinfo | None:
    """Return the time zone of a job, or None if it is invalid."""
    try:
        return ZoneInfo(job.time_zone or cron.DEFAULT_TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def refuse(job: DynamicMessage) -> None:
    """Raise `RpcError` UNIMPLEMENTED for what the emulator lacks."""
    for target in ("pubsub_target", "app_engine_http_target"):
        if job.HasField(target):
            raise RpcError("UNIMPLEMENTED", f"The emulator does not implement {target}. Use http_target.")
    if job.http_target.HasField("oidc_token"):
        raise RpcError(
            "UNIMPLEMENTED", "The emulator does not implement http_target.oidc_token. Use oauth_token."
        )
    if not is_own_host(job.http_target.uri):
        raise RpcError(
            "UNIMPLEMENTED",
            f"The emulator calls only the APIs of Google that it serves itself, not {job.http_target.uri} "
            "(http_target.uri).",
        )


def fill_in(job: DynamicMessage) -> None:
    """Set the defaults of the service."""
    job.time_zone = job.time_zone or cron.DEFAULT_TIME_ZONE
    if job.HasField("http_target") and not job.http_target.http_method:
        job.http_target.http_method = _POST
    if not job.HasField("attempt_deadline"):
        job.attempt_deadline.seconds = _DEFAULT_DEADLINE
    retry = job.retry_config
    if not retry.HasField("max_retry_duration"):
        retry.max_retry_duration.seconds = 0
    if not retry.HasField("min_backoff_duration"):
        retry.min_backoff_duration.seconds = _DEFAULT_MIN_BACKOFF
    if not retry.HasField("max_backoff_duration"):
        retry.max_backoff_duration.seconds = _DEFAULT_MAX_BACKOFF
    retry.max_doublings = retry.max_doublings or _DEFAULT_DOUBLINGS


def problems(job: DynamicMessage) -> Iterator[Violation]:
    """Check a job, and yield each violation."""
    if zone_of(job) is None:
        yield Violation("time_zone", f"Time zone {job.time_zone!r} is invalid.")
    if not job.schedule:
        yield Violation("schedule", "The schedule is required.")
    elif fault := cron.problem_with(job.schedule):
        yield Violation("schedule", f"Schedule {job.schedule!r} is invalid: {fault}.")
    if len(job.description) > _LONGEST_DESCRIPTION:
        yield Violation("description", f"It has more than {_LONGEST_DESCRIPTION} characters.")
    if job.WhichOneof("target") is None:
        yield Violation("target", "Job target must be specified.")
    elif job.HasField("http_target") and not job.http_target.uri.startswith(("http://", "https://")):
        yield Violation("http_target.uri", "It must begin with http:// or https://.")
    if len(job.http_target.body) > _BODY_BYTES:
        yield Violation("http_target.body", f"It has more than {_BODY_BYTES} bytes.")
    deadline = job.attempt_deadline.seconds
    if job.HasField("attempt_deadline") and not _SHORTEST_DEADLINE <= deadline <= _LONGEST_DEADLINE:
        yield Violation(
            "attempt_deadline",
            f"It must be between {_SHORTEST_DEADLINE} seconds and {_LONGEST_DEADLINE // 60} minutes.",
        )
    if not 0 <= job.retry_config.retry_count <= _MOST_RETRIES:
        yield Violation("retry_config.retry_count", f"It must be between 0 and {_MOST_RETRIES}.")
