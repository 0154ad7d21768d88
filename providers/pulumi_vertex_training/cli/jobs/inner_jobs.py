"""Which tuning job or pipeline a job belongs to, and which jobs were cancelled."""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import Inner, gateway_in, gateway_of
from pulumi_vertex_training.views.trials_view import cancelled_job_keys, job_key


def inner_jobs(records: Iterable[JobRecord]) -> dict[str, Inner]:
    """Return the jobs that these run, by `job_key`; a trial that has no job yet is not among them."""
    inner = (one for record in records for one in gateway_of(record.name).inner(record))
    return {job_key(one.name): one for one in inner}


def backing_of(record: JobRecord) -> str | None:
    """Return the full name of the one job that a pipeline runs; None before, and for every other kind."""
    inner = gateway_of(record.name).inner(record)
    return next((one.name for one in inner if one.trial is None), None)


def cancelled_jobs(endpoint: Endpoint, records: Iterable[JobRecord]) -> frozenset[str]:
    """Return the keys of the custom jobs that were cancelled since the first of these tuning jobs was
    created, for `trials_view.stopped_early`.

    Nothing is asked where no trial has succeeded. Raises CloudError.
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
