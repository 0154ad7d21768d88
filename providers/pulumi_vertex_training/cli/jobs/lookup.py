"""Find a job of any kind by full name, id or display name, and the jobs that it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.target import location_hint
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import Inner, gateway_in, gateway_of, gateways
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL
from pulumi_vertex_training.views.failure import InputError
from pulumi_vertex_training.views.study_view import cancelled_job_keys, job_key
from vertex_training.findings.words import did_you_mean

_SHOWN = 5
_NAME = re.compile(
    rf"projects/[^/]+/locations/[^/]+/({'|'.join(entry.collection for entry in registry.RUNNABLE)})/\d+"
)


def find(endpoint: Endpoint, text: str) -> JobRecord:
    """Find a job. Raises InputError if none or several match, and CloudError."""
    if "/" in text:
        if not _NAME.fullmatch(text):
            raise InputError(
                f"{text!r} is not a job name; give one like projects/P/locations/L/customJobs/123.",
                path="JOB",
            )
        found = _get(endpoint, text)
    else:
        found = _by_id(endpoint, text) if text.isdigit() else None
        found = found or _by_display_name(endpoint, text)
    if found is None:
        raise _unknown(endpoint, text)
    return found


def describe(records: Sequence[JobRecord]) -> str:
    """Describe jobs in one line, newest first."""
    shown = [f"{one.job_id} ({one.display_name}, {one.state.word})" for one in records[:_SHOWN]]
    if len(records) > _SHOWN:
        shown.append(f"and {len(records) - _SHOWN} more")
    return ", ".join(shown)


def summary(record: JobRecord) -> dict[str, Any]:
    """Return the JSON keys that every job has in `jobs`, `status` and `cancel`."""
    document: dict[str, Any] = {
        "id": record.job_id,
        "kind": gateway_of(record.name).noun,
        "name": record.name,
        "displayName": record.display_name,
        "state": record.state_name,
        "createTime": record.create_time,
        "startTime": record.start_time,
        "endTime": record.end_time,
        "labels": dict(record.labels),
    }
    if record.error:
        document["error"] = {"code": record.error.code, "message": record.error.message}
    return document


def endpoint_json(endpoint: Endpoint) -> dict[str, str]:
    """Return the JSON of an endpoint."""
    return {"kind": endpoint.kind, "project": endpoint.project, "location": endpoint.location}


def _get(endpoint: Endpoint, name: str) -> JobRecord | None:
    try:
        return gateway_of(name).get(endpoint, name)
    except (NotFound, InvalidArgument):
        return None


def _by_id(endpoint: Endpoint, job_id: str) -> JobRecord | None:
    """Try the id with every kind. Ids are long random numbers, so no two kinds share one."""
    names = (f"{endpoint.parent}/{entry.collection}/{job_id}" for entry in registry.RUNNABLE)
    return next((record for name in names if (record := _get(endpoint, name))), None)


def all_jobs(endpoint: Endpoint) -> list[JobRecord]:
    """Return all jobs of every kind, newest first."""
    return newest_first(one for gateway in gateways() for one in gateway.list_jobs(endpoint))


def newest_first(records: Iterable[JobRecord]) -> list[JobRecord]:
    """Sort jobs by their creation time, newest first."""
    return sorted(records, key=lambda record: record.create_time or "", reverse=True)


def _by_display_name(endpoint: Endpoint, display_name: str) -> JobRecord | None:
    records = newest_first(
        one for gateway in gateways() for one in gateway.list_by_display_name(endpoint, display_name)
    )
    live = [record for record in records if not record.state.is_terminal]
    if len(records) <= 1 or len(live) == 1:
        return next(iter(live or records), None)
    declarations = {one.labels.get(DECLARATION_LABEL) for one in records}
    if not live and len(declarations) == 1 and None not in declarations:
        return records[0]  # the latest of the runs of one resource
    raise InputError(
        f"{len(records)} jobs are named {display_name!r}: {describe(records)}. Give the id of one.",
        path="JOB",
    )


def _unknown(endpoint: Endpoint, text: str) -> InputError:
    records = all_jobs(endpoint)
    owned = inner_jobs(records)
    outer = [record for record in records if job_key(record.name) not in owned]
    if not records:
        exist = f"There are no jobs in {endpoint.project}, {endpoint.location}."
        exist += location_hint(endpoint.location)
    else:
        exist = f"Jobs in {endpoint.project}, {endpoint.location}: {describe(outer or records)}."
    known = [record.display_name for record in records] + [record.job_id for record in records]
    hint = did_you_mean(text.rpartition("/")[2], known)
    return InputError(f"There is no job {text!r}.{hint} {exist}", path="JOB")


def inner_jobs(records: Iterable[JobRecord]) -> dict[str, Inner]:
    """Return the jobs that the records run, by `key`, without trials that have no job yet."""
    inner = (one for record in records for one in gateway_of(record.name).inner(record))
    return {job_key(one.name): one for one in inner}


def backing_of(record: JobRecord) -> str | None:
    """Return the full name of the job that a pipeline runs, None before it exists and for other kinds."""
    inner = gateway_of(record.name).inner(record)
    return next((one.name for one in inner if one.trial is None), None)


def cancelled_jobs(endpoint: Endpoint, records: Iterable[JobRecord]) -> frozenset[str]:
    """Return the keys of custom jobs cancelled since the first of these tuning jobs was created.

    `trials_view.stopped_early` needs them. If no trial has succeeded, nothing is read. Raises CloudError.
    """
    begun = [
        record.create_time or ""
        for record in records
        if any(trial.has_succeeded for trial in gateway_of(record.name).trials(record))
    ]
    if not begun:
        return frozenset()
    since = f' AND create_time>="{min(begun)}"' if all(begun) else ""
    custom_jobs = gateway_in(registry.CUSTOM_JOB.collection)
    return cancelled_job_keys(custom_jobs.list_jobs(endpoint, filter_=f'state="JOB_STATE_CANCELLED"{since}'))
