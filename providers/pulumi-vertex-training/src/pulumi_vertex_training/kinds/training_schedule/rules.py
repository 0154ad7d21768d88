"""The checks of a schedule, before anything is sent to Cloud Scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.training_schedule.spec import ALLOW, ScheduleSpec
from vertex_training.fields import cron, durations
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, shown

_API = "Cloud Scheduler API, Job"

CRON = Rule(
    name="schedule-cron",
    says="a schedule is a cron expression with five fields, each with values that it can have",
    source='Cloud Scheduler documentation, "Cron job format and time zone"',
)
TIME_ZONE = Rule(
    name="schedule-time-zone",
    says="a time zone has a name of the time zone database, such as Europe/Berlin",
    source=f"{_API}.time_zone",
)
SCHEDULE_ID = Rule(
    name="schedule-id",
    says="the id of a schedule has 1 to 500 letters, digits, hyphens and underscores",
    source=f"{_API}.name",
)
SERVICE_ACCOUNT = Rule(
    name="schedule-service-account",
    says="a schedule on Google Cloud has a service account, which submits the runs",
    source=f"{_API}, HttpTarget.oauth_token",
)
RETRIES = Rule(
    name="schedule-retries", says="a call has 0 to 5 retries", source=f"{_API}, RetryConfig.retry_count"
)
DEADLINE = Rule(
    name="schedule-deadline",
    says="a call takes between 15 seconds and 30 minutes",
    source=f"{_API}.attempt_deadline",
)
OVERLAP = Rule(
    name="schedule-overlap",
    says="the runs of a schedule do not depend on each other",
    source="ours: Cloud Scheduler sends the same request each time, and does not know which runs are live",
)
FIXED_DIRECTORY = Rule(
    name="schedule-fixed-directory",
    says="the runs of a schedule do not overwrite each other's files",
    source="ours: Cloud Scheduler sends the same base_output_directory each time",
    level="warning",
)

_NEAREST = {
    "queue": "run the job on a persistent resource with the machines of one run (persistent_resource_id): "
    "the next run waits there until the machines are free",
    **dict.fromkeys(
        ("skip", "cancel"),
        "give the job a timeout below the time between two runs: each run then ends before the next is due",
    ),
}
"""The nearest thing to each policy that Cloud Scheduler cannot follow."""
_RUN_ID = "CLOUD_ML_JOB_ID"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,500}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_MOST_RETRIES = 5
_SHORTEST, _LONGEST = 15, 1800


def validate(spec: ScheduleSpec, *, zones: frozenset[str], on_google: bool) -> list[Problem]:
    """Return every problem of a schedule, in the order of its fields. `zones` are the known time zones."""
    return [
        *_id_problems(spec.schedule_id),
        *_time_problems(spec, zones),
        *_account_problems(spec.service_account, on_google=on_google),
        *_overlap_problems(spec.overlap),
        *_call_problems(spec),
        *_request_problems(spec),
    ]


def _id_problems(schedule_id: str) -> Iterator[Problem]:
    if not _ID.fullmatch(schedule_id):
        yield SCHEDULE_ID.broken(
            "schedule_id",
            f"{shown(schedule_id)} cannot be a schedule's id; it has 1 to 500 letters, digits, hyphens and "
            "underscores",
        )


def _time_problems(spec: ScheduleSpec, zones: frozenset[str]) -> Iterator[Problem]:
    if fault := cron.problem_with(spec.schedule):
        yield CRON.broken("schedule", f"{shown(spec.schedule)}: {fault}")
    if spec.time_zone not in zones:
        guess = nearest(spec.time_zone, zones) or "give a name such as Europe/Berlin or Etc/UTC"
        yield TIME_ZONE.broken("time_zone", f"{shown(spec.time_zone)} is not a time zone; {guess}")


def _account_problems(account: str | None, *, on_google: bool) -> Iterator[Problem]:
    if account is None and on_google:
        yield SERVICE_ACCOUNT.broken(
            "service_account",
            "is not given. On Google Cloud a service account submits the runs: give one with the role "
            "roles/aiplatform.user (docs/guides/programs/schedules.md)",
        )
    elif account is not None and not _EMAIL.fullmatch(account):
        yield SERVICE_ACCOUNT.broken(
            "service_account",
            f"{shown(account)} is not the e-mail address of a service account; write "
            "NAME@PROJECT.iam.gserviceaccount.com",
        )


def _call_problems(spec: ScheduleSpec) -> Iterator[Problem]:
    retry = spec.retry_config
    if retry is not None and not 0 <= retry.retry_count <= _MOST_RETRIES:
        yield RETRIES.broken(
            "retry_config.retry_count", f"{retry.retry_count} retries; set 0 to {_MOST_RETRIES}"
        )
    for name in ("max_retry_duration", "min_backoff_duration", "max_backoff_duration") if retry else ():
        text = getattr(retry, name)
        if text != "0s" and (fault := durations.problem_with(text, remedy="write it in seconds, such as 5s")):
            yield RETRIES.broken(f"retry_config.{name}", fault)
    fault = durations.problem_with(spec.attempt_deadline, remedy="write it in seconds, such as 180s")
    if fault:
        yield DEADLINE.broken("attempt_deadline", fault)
    elif not _SHORTEST <= float(spec.attempt_deadline[:-1]) <= _LONGEST:
        yield DEADLINE.broken(
            "attempt_deadline", f"{spec.attempt_deadline} is not between {_SHORTEST}s and {_LONGEST}s"
        )


def _request_problems(spec: ScheduleSpec) -> Iterator[Problem]:
    if '"baseOutputDirectory"' in spec.request and _RUN_ID not in spec.request:
        yield FIXED_DIRECTORY.broken(
            "job",
            "each run has the same output directory, and overwrites the files of the one before. Let the "
            f"program write to a folder with the run's id: give the task the variable RUN_ID=$({_RUN_ID}), "
            "or the same text in an argument",
            rests_on=("request",),
        )


def _overlap_problems(overlap: str) -> Iterator[Problem]:
    if overlap == ALLOW:
        return
    options = [ALLOW, *_NEAREST]
    remedy = _NEAREST.get(overlap) or nearest(overlap, options) or "leave it out"
    yield OVERLAP.broken(
        "overlap",
        f"{shown(overlap)} is not possible: Cloud Scheduler starts each run at its time, whatever is live. "
        + (f"The nearest thing: leave overlap out, and {remedy}" if overlap in _NEAREST else remedy),
    )
