"""Why live jobs wait, in words that follow "waits for". The emulator knows; Google Cloud reports nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from vertex_training.fields.resource_names import resource_id
from vertex_training.study.trials import Trial

_COMMAND = re.compile(r" \(`[^`]*`\)")

NOT_STARTED = frozenset({"PENDING", "QUEUED"})
"""The states of a job that waits for its start. Each of them has a reason."""


def waits_of(endpoint: Endpoint, records: Iterable[JobRecord]) -> Mapping[str, str]:
    """Return why jobs wait, by full name, without those that wait for nothing."""
    live = [record for record in records if not record.state.is_terminal]
    if not live:
        return {}
    known = _known(endpoint)
    found = {record.name: _words(endpoint, record, known) for record in live}
    return {name: words for name, words in found.items() if words}


def waits_of_trials(endpoint: Endpoint, trials: Iterable[Trial]) -> Mapping[str, str]:
    """Return why the jobs of trials wait, by the trial's id, without those that wait for nothing."""
    live = {trial.id: trial.custom_job for trial in trials if trial.custom_job and not trial.end_time}
    known = _known(endpoint) if live else {}
    found = {trial: known.get(resource_id(job), "") for trial, job in live.items()}
    return {trial: words for trial, words in found.items() if words}


def _known(endpoint: Endpoint) -> Mapping[str, str]:
    try:
        return emulator_api.waiting_jobs(endpoint)
    except CloudError:  # a view has all the rest
        return {}


def in_short(reason: str) -> str:
    """Return a reason for a row of a table: without the command that changes the setting."""
    return f"waits for {_COMMAND.sub('', reason)}"


def wait_of(endpoint: Endpoint, record: JobRecord) -> str:
    """Return why a job waits, "" if it waits for nothing."""
    return waits_of(endpoint, [record]).get(record.name, "")


def _words(endpoint: Endpoint, record: JobRecord, known: Mapping[str, str]) -> str:
    if record.collection == registry.CUSTOM_JOB.collection:
        reason = known.get(record.job_id, "")
    else:
        reason = _of_inner(record, known)
    if reason or record.state.word not in NOT_STARTED:
        return reason
    return "its start" if endpoint.is_emulator else "its start; Google Cloud reports no reason"


def _of_inner(record: JobRecord, known: Mapping[str, str]) -> str:
    """Return why the first of the jobs waits that a tuning job or pipeline runs."""
    waiting = [one for one in gateway_of(record.name).inner(record) if resource_id(one.name) in known]
    if not waiting:
        return ""
    reason = known[resource_id(waiting[0].name)]
    numbers = [one.trial.id for one in waiting if one.trial is not None]
    if not numbers:
        return reason
    return f"{reason} (trial{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})"
