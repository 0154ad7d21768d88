"""Actions on jobs, replicas and the emulator's clock. Each returns its result in words.

All raise InputError for a wrong request, CommandError for one that cannot be carried out, and CloudError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_in
from pulumi_vertex_training.ui.source.job import kind_of
from pulumi_vertex_training.views.study_view import job_key
from vertex_emulator import Control, ControlError
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.cost import max_cost
from vertex_training.fields import uris
from vertex_training.fields.labels import is_provider_label
from vertex_training.job.checkpoints import without_variable
from vertex_training.job.job_kind import JobKind

AGAIN_LABEL = "vertex-training-again-of"
"""Label of a job that was run again from the dashboard: the id of the first one. No stack declares it."""

_HAS_MAX_COST = (
    "The job has max_cost, which counts only runs that its stack submits. Change run_token in the program: "
    "the next `pulumi up` runs it again, within what is left."
)

_MOST_SECONDS = 366 * 24 * 3600


@dataclass(frozen=True, kw_only=True)
class Done:
    """The result of an action. `job` is the key of a new job, `ahead` the seconds of the emulator's clock."""

    text: str
    job: str = ""
    ahead: float | None = None


def cancel(endpoint: Endpoint, key: str) -> Done:
    """Cancel a job."""
    record = _record(endpoint, key)
    if record.state.is_terminal:
        raise CommandError(f"The job has already ended: {record.state.word.lower()}.")
    gateway_in(record.collection).cancel(endpoint, record.name)
    return Done(text="The job is being cancelled.")


def why_not_again(record: JobRecord) -> str:
    """Return why a job cannot run again from here, with the remedy; "" if it can."""
    return _HAS_MAX_COST if max_cost.LABEL in record.labels else ""


def run_again(endpoint: Endpoint, key: str, *, now: datetime | None = None) -> Done:
    """Submit a job with the same spec, which no stack declares, and with an output directory of its own.

    Raises CommandError for a job with `max_cost`, whose sum would not have the new job.
    """
    record = _record(endpoint, key)
    if refusal := why_not_again(record):
        raise CommandError(refusal)
    kind: JobKind[Any] = kind_of(record)
    try:
        spec = kind.from_wire(record.wire)
    except ValueError as error:
        raise CommandError(f"The job is of a newer version and cannot be run again: {error}.") from error
    kept = {name: value for name, value in record.labels.items() if not is_provider_label(name)}
    kept = {name: value for name, value in kept.items() if not name.startswith(("pulumi-", "goog-"))}
    spec = replace(spec, labels={**kept, AGAIN_LABEL: record.job_id})
    spec = without_variable(spec)  # one job at a time uses a folder of checkpoints
    directory = kind.directory_of(record.wire)
    if directory:
        moment = (now or datetime.now(timezone.utc)).strftime("%Y%m%d-%H%M%S")
        spec = kind.with_output_directory(spec, _sibling(directory, f"again-{moment}"))
    made = gateway_in(record.collection).create(endpoint, kind.to_wire(spec))
    return Done(text=f"The job runs again as {made.job_id}.", job=job_key(made.name))


def kill(endpoint: Endpoint, key: str, replica: str) -> Done:
    """Kill a replica of a custom job on the emulator, once."""
    with _control(endpoint) as control:
        control.kill_replica(_custom_job(key), replica)
    return Done(text=f"The emulator kills {replica}.")


def preempt(endpoint: Endpoint, key: str, replica: str) -> Done:
    """Preempt the machine of a replica of a custom job on the emulator, once."""
    with _control(endpoint) as control:
        control.preempt_replica(_custom_job(key), replica)
    return Done(text=f"The emulator preempts the machine of {replica}.")


def advance_clock(endpoint: Endpoint, seconds: str) -> Done:
    """Advance the emulator's clock."""
    if not (seconds.isascii() and seconds.isdigit() and 0 < int(seconds) <= _MOST_SECONDS):
        raise InputError("The clock is advanced by 1 second to 366 days.", path="value")
    with _control(endpoint) as control:
        time = str(control.advance_clock(float(seconds))["time"])
    ahead = emulator_api.clock_ahead(endpoint)
    return Done(text=f"The emulator's clock is now {time[:19].replace('T', ' ')} UTC.", ahead=ahead)


def _record(endpoint: Endpoint, key: str) -> JobRecord:
    collection = key.partition("/")[0]
    return gateway_in(collection).get(endpoint, f"{endpoint.parent}/{key}")


def _custom_job(key: str) -> str:
    collection, _, job_id = key.partition("/")
    if collection != registry.CUSTOM_JOB.collection:
        raise InputError("Only a custom job has replicas of its own.", path="job")
    return job_id


@contextmanager
def _control(endpoint: Endpoint) -> Iterator[Control]:
    """Yield the controls of the emulator. Raises CommandError on Google Cloud."""
    if not endpoint.is_emulator or not endpoint.url or not endpoint.token:
        raise CommandError("Only the emulator can do this.")
    try:
        yield Control(url=endpoint.url, token=endpoint.token, timeouts=endpoint.timeouts)
    except ControlError as error:
        raise CommandError(str(error)) from error


def _sibling(directory: str, name: str) -> str:
    """Return a directory beside another one, or within it if that is a whole bucket."""
    address = uris.parse(directory)
    folder = address.name.rstrip("/")
    return f"gs://{address.bucket}/{folder}-{name}/" if folder else f"gs://{address.bucket}/{name}/"
