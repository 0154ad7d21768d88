"""From what a user types to a job: full name, id, or display name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_training.cli.failure import InputError, did_you_mean
from vertex_training.cloud import custom_jobs
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import InvalidArgument, NotFound

_SHOWN = 5


def find(endpoint: Endpoint, text: str) -> JobRecord:
    """Raises InputError, with the jobs that exist, when none or several are meant; CloudError."""
    if "/" in text:
        if not re.fullmatch(r"projects/[^/]+/locations/[^/]+/customJobs/\d+", text):
            raise InputError(
                f"{text!r} is no job's name; it is like projects/P/locations/L/customJobs/123.", path="JOB"
            )
        found = _get(endpoint, text)
    else:
        found = _get(endpoint, f"{endpoint.parent}/customJobs/{text}") if text.isdigit() else None
        found = found or _by_display_name(endpoint, text)
    if found is None:
        raise _unknown(endpoint, text)
    return found


def describe(records: Sequence[JobRecord]) -> str:
    """Jobs in one line, newest first."""
    shown = [f"{one.job_id} ({one.display_name}, {one.state.word})" for one in records[:_SHOWN]]
    if len(records) > _SHOWN:
        shown.append(f"and {len(records) - _SHOWN} more")
    return ", ".join(shown)


def _get(endpoint: Endpoint, name: str) -> JobRecord | None:
    try:
        return custom_jobs.get(endpoint, name)
    except (NotFound, InvalidArgument):
        return None


def _by_display_name(endpoint: Endpoint, display_name: str) -> JobRecord | None:
    records = custom_jobs.list_by_display_name(endpoint, display_name)
    live = [record for record in records if not record.state.is_terminal]
    if len(records) <= 1 or len(live) == 1:
        return next(iter(live or records), None)
    raise InputError(
        f"{len(records)} jobs are called {display_name!r}: {describe(records)}. Give the id of one.",
        path="JOB",
    )


def _unknown(endpoint: Endpoint, text: str) -> InputError:
    records = custom_jobs.list_jobs(endpoint)
    if not records:
        exist = f"There are no jobs in {endpoint.project}, {endpoint.location}."
    else:
        exist = f"Jobs in {endpoint.project}, {endpoint.location}: {describe(records)}."
    known = [record.display_name for record in records] + [record.job_id for record in records]
    hint = did_you_mean(text.rpartition("/")[2], known)
    return InputError(f"There is no job {text!r}.{hint} {exist}", path="JOB")
