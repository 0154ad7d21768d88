"""Delete runs: one by the plan of `deletion_policy`, a killed deployment's, or kept records.

A killed deployment can have submitted a job that no state records. The next deployment of the same spec
adopts it (`submission`). If the declaration was changed or removed before, it is found by the part of the key
that all runs of a declaration share, and deleted.

Of kept records, only those with the declaration's own label count. So an adopted job, and a job of another
stack with the same names, are never deleted here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound, Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL, RunKey, parse
from pulumi_vertex_training.runs.lineage import files
from pulumi_vertex_training.runs.policies.deletion_policy import Step, plan
from pulumi_vertex_training.runs.policies.run_status import LIVE, last_run
from vertex_emulator import machine_clock
from vertex_training.fields.resource_names import resource_id

PROGRESS_SECONDS = 15.0
"""Seconds between two progress lines of a wait."""


class StillRunningError(Exception):
    """The run had not ended within the time given; the next delete continues where this one stopped."""


class ProtectedError(Exception):
    """The run is live and protected; nothing was done to it."""


def delete_run(
    gateway: RunGateway,
    endpoint: Endpoint,
    name: str,
    *,
    label: str,
    tell: Callable[[str], None],
    before_stop: Callable[[], None] | None = None,
    before_delete: Callable[[Endpoint, str], None] | None = None,
    keep_record: bool = False,
    kept_because: str = "",
    protect_running: bool = False,
    timeout: float | None = None,
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> None:
    """Carry out the plan of a run's deletion. Return also if the record was gone before.

    `label` is what the user calls the run. `before_stop` is called right before the first step that changes
    anything, `before_delete` right before the record is deleted.
    `kept_because` is the reason to report if the record is kept; "" reports nothing.
    `timeout` are the seconds to wait for the end of the run, by default the endpoint's timeout.
    Raises `ProtectedError` before anything is done, and `StillRunningError` if the run has not ended in
    time.
    """
    endpoint = endpoint.of(name)
    try:
        record = gateway.get(endpoint, name)
        state = last_run(record.state.name, record.state.name)
        steps = plan(state, keep_record=keep_record, protect_running=protect_running)
        if steps.refused:
            raise ProtectedError(steps.sentence(label))
        if steps.steps and before_stop is not None:
            before_stop()
        if Step.CANCEL in steps.steps:
            tell(f"cancelling {gateway.noun} {resource_id(name)}, which is {_state(record)}")
            cancel(gateway, endpoint, name)
        if Step.WAIT in steps.steps:
            seconds = endpoint.timeouts.job_end if timeout is None else timeout
            until_ended(gateway, endpoint, name, seconds, tell=tell, clock=clock, sleep=sleep)
        if Step.DELETE in steps.steps:
            if before_delete is not None:
                before_delete(endpoint, name)
            files.delete_unused(endpoint, record)
            _delete(gateway, endpoint, name)
        elif keep_record and kept_because:
            tell(f"the record of {gateway.noun} {resource_id(name)} stays, because {kept_because}")
    except NotFound:
        return


def cancel(gateway: RunGateway, endpoint: Endpoint, name: str) -> None:
    """Ask a job to stop. Raise nothing if it has ended, or if only the answer was lost."""
    try:
        gateway.cancel(endpoint, name)
    except FailedPrecondition:
        # The job ended between the two calls; the wait that follows finds that at once.
        return
    except Unavailable:
        # The answer was lost, perhaps after the job was cancelled: only its state shows that.
        record = gateway.get(endpoint, name)
        if last_run(None, record.state.name) in LIVE:
            raise


def _delete(gateway: RunGateway, endpoint: Endpoint, name: str) -> None:
    try:
        gateway.delete(endpoint, name)
    except Unavailable:
        # As above. A record that is gone raises NotFound.
        gateway.get(endpoint, name)
        raise


def until_ended(
    gateway: RunGateway,
    endpoint: Endpoint,
    name: str,
    seconds: float,
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> JobRecord:
    """Wait until a job that was cancelled has ended, and return it. Raises StillRunningError."""
    began = reported = clock()
    pause = 0.1
    while True:
        record = gateway.get(endpoint, name)
        if record.state.is_terminal:
            return record
        if clock() - began >= seconds:
            raise StillRunningError(
                f"{gateway.noun} {resource_id(name)} is {_state(record)}, {seconds:g} s after it was asked "
                "to stop. Run the same command again: it continues to wait, and deletes the job when it has "
                "ended."
            )
        if clock() - reported >= PROGRESS_SECONDS:
            reported = clock()
            since = f"{reported - began:.0f} s after it was asked to stop"
            tell(f"{gateway.noun} {resource_id(name)} is still {_state(record)}, {since}")
        sleep(pause)
        pause = min(pause * 1.5, 5.0)


def _state(record: JobRecord) -> str:
    return record.state.name.removeprefix("JOB_STATE_")


def stop_orphans(
    gateway: RunGateway,
    endpoint: Endpoint,
    records: Iterable[JobRecord],
    *,
    tell: Callable[[str], None],
    before_delete: Callable[[Endpoint, str], None] | None = None,
    keep_record: bool = False,
    protect_running: bool = False,
) -> None:
    """Stop and delete the live ones of jobs that killed deployments left behind.

    Ended jobs cost nothing and stay: their records may be kept on purpose. Raises the errors of `delete_run`.
    """
    for record in records:
        if record.state.is_terminal:
            continue
        job = resource_id(record.name)
        tell(f"{gateway.noun} {job} was left behind by an interrupted deployment")
        delete_run(
            gateway,
            endpoint,
            record.name,
            label=job,
            tell=tell,
            before_delete=before_delete,
            keep_record=keep_record,
            protect_running=protect_running,
        )


def ended_runs(
    records: Iterable[JobRecord], key: RunKey, *, without: Container[str] = frozenset()
) -> list[JobRecord]:
    """Return the ended jobs of the declaration's runs up to `key`, newest first.

    Jobs of later runs belong to a newer copy of the state. `without` are full names to leave out.
    """
    found = [
        record
        for record in records
        if record.state.is_terminal and record.name not in without and _is_run_until(record, key)
    ]
    return sorted(found, key=lambda record: record.create_time or "", reverse=True)


def delete_oldest(
    gateway: RunGateway,
    endpoint: Endpoint,
    key: RunKey,
    *,
    keep: int,
    without: Container[str],
    before_delete: Callable[[Endpoint, str], None],
    elsewhere: Iterable[Endpoint] = (),
) -> None:
    """Delete the records of the declaration's earlier runs except for the newest `keep`.

    `elsewhere` are the endpoints of other locations in which it may have jobs.
    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    labels = {DECLARATION_LABEL: key.identity}
    records = [one for each in (endpoint, *elsewhere) for one in gateway.list_by_label(each, labels)]
    delete_records(
        gateway, endpoint, ended_runs(records, key, without=without)[keep:], before_delete=before_delete
    )


def delete_records(
    gateway: RunGateway,
    endpoint: Endpoint,
    records: Iterable[JobRecord],
    *,
    before_delete: Callable[[Endpoint, str], None],
) -> None:
    """Delete the records of ended jobs. A record that is gone already is not an error."""
    for record in records:
        try:
            there = endpoint.of(record.name)
            before_delete(there, record.name)
            files.delete_unused(there, record)
            gateway.delete(there, record.name)
        except NotFound:
            continue


def _is_run_until(record: JobRecord, key: RunKey) -> bool:
    try:
        carried = parse(record.labels.get(RUN_LABEL, ""))
    except ValueError:
        return False
    return carried.identity == key.identity and carried.generation <= key.generation
