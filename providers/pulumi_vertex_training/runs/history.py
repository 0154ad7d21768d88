"""The kept records of a declaration's earlier runs: find them, and delete those that are too many.

Only records with the declaration's own label count. So an adopted job, and a job of another stack with the
same names, are never deleted here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL, RunKey, parse


def ended_runs(
    records: Iterable[JobRecord], key: RunKey, *, without: Container[str] = frozenset()
) -> list[JobRecord]:
    """Return the ended jobs of the declaration's runs up to that of `key`, newest first.

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
) -> None:
    """Delete the records of the declaration's earlier runs except for the newest `keep`.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    records = gateway.list_by_label(endpoint, {DECLARATION_LABEL: key.identity})
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
            before_delete(endpoint, record.name)
            gateway.delete(endpoint, record.name)
        except NotFound:
            continue


def _is_run_until(record: JobRecord, key: RunKey) -> bool:
    try:
        carried = parse(record.labels.get(RUN_LABEL, ""))
    except ValueError:
        return False
    return carried.identity == key.identity and carried.generation <= key.generation
