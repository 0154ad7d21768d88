"""Chosen runs side by side, and the runs from which to choose: a bounded number of the newest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, from_wire
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import gateway_in, gateway_of
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, REASON_LABEL, RUN_LABEL, identity_of
from pulumi_vertex_training.runs.monitoring import live_jobs
from pulumi_vertex_training.runs.policies.rerun import words_of
from pulumi_vertex_training.ui.source.costs import in_cents
from pulumi_vertex_training.ui.source.inventory import JobRow, row_of
from pulumi_vertex_training.ui.source.owner import owner_of
from pulumi_vertex_training.views.curve import Curve
from pulumi_vertex_training.views.jobs import status
from pulumi_vertex_training.views.metrics import metrics
from pulumi_vertex_training.views.runs import comparison, spending
from pulumi_vertex_training.views.runs.argument_values import ArgumentRow
from pulumi_vertex_training.views.runs.comparison import Comparison, Side
from pulumi_vertex_training.views.runs.history import result_of
from pulumi_vertex_training.views.runs.metric_rows import MetricRow, rows_of
from pulumi_vertex_training.views.study_view import job_key

MOST = 10
"""Runs that are compared at once."""

OFFERED = 100
"""Runs to choose from."""

_FIELDS = "name,displayName,state,createTime,startTime,endTime,labels"
_NOTHING = "Nothing else differs."


@dataclass(frozen=True, kw_only=True)
class Column:
    """A run as a column: its name, and the key of its job."""

    key: str
    name: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes of a run compared with the first run, in words. `note` says so if nothing changed."""

    column: Column
    sentences: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Runs side by side. The first and oldest is the base. Rows have a cell for each run.

    `same` are the facts that are equal in all runs. `curves` has the curves of each run by metric.
    """

    columns: tuple[Column, ...]
    arguments: tuple[ArgumentRow, ...]
    metrics: tuple[MetricRow, ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    same: tuple[tuple[str, str], ...]
    curves: tuple[Mapping[str, Curve], ...]
    changes: tuple[Changes, ...]
    is_at_list_price: bool

    @property
    def has_other_changes(self) -> bool:
        """True if something differs besides the arguments, or if no argument does."""
        return not self.arguments or any(one.sentences or one.note != _NOTHING for one in self.changes)


def read(endpoint: Endpoint, keys: Sequence[str]) -> Compared:
    """Compare jobs by their keys, such as "customJobs/123", which have to be valid; the oldest is the base.

    Raises CloudError.
    """
    records = call_each(lambda key: _record(endpoint, key), keys)
    records.sort(key=lambda record: record.create_time or "")
    results = call_each(lambda record: result_of(endpoint, record), records)
    reported = call_each(lambda record: metrics.read(endpoint, record).curves, records)
    costs, now = spending.costs_of(endpoint, records), live_jobs.now(endpoint, records)
    sides = [
        Side(
            number=record.job_id,
            record=record,
            metrics=result.metrics,
            curves=metrics.by_name(curves),
            facts=_facts(record, in_cents(spent) if spent else "", now),
        )
        for record, result, curves, spent in zip(records, results, reported, costs, strict=True)
    ]
    base = records[0]
    same = [side for side in sides if side.record.collection == base.collection]
    compared = comparison.compare(same)
    changes = dict(zip((side.number for side in same[1:]), compared.other_changes, strict=True))
    everything = Comparison(runs=tuple(sides), changes=(), other_changes=())
    columns = tuple(_columns(records))
    names = dict.fromkeys(name for side in sides for name in side.facts)
    facts = [(name, tuple(side.facts.get(name, "") for side in sides)) for name in names]
    return Compared(
        columns=columns,
        arguments=everything.arguments,
        metrics=tuple(rows_of(everything.metrics)),
        facts=tuple((name, cells) for name, cells in facts if len(set(cells)) > 1),
        same=tuple((name, cells[0]) for name, cells in facts if len(set(cells)) == 1 and cells[0]),
        curves=tuple(metrics.named(curves) for curves in reported),
        changes=tuple(
            _changes(column, side.record, base, changes.get(side.number))
            for column, side in zip(columns[1:], sides[1:], strict=True)
        ),
        is_at_list_price=endpoint.is_emulator,
    )


def offered(endpoint: Endpoint, key: str) -> tuple[JobRow, ...]:
    """Return the newest runs of the resource of a job, or the newest jobs of its kind without one.

    Without a key these are the newest jobs of every kind. Raises CloudError.
    """
    if not key:
        found = [job for entry in registry.RUNNABLE for job in _newest(endpoint, entry.collection, "")]
        found.sort(key=lambda record: record.create_time or "", reverse=True)
        return tuple(row_of(record) for record in found[:OFFERED])
    record = _record(endpoint, key)
    label = next((one for one in ("pulumi-resource", DECLARATION_LABEL) if record.labels.get(one)), "")
    wanted = f"labels.{label}={json.dumps(record.labels[label])}" if label else ""
    return tuple(row_of(one) for one in _newest(endpoint, record.collection, wanted))


def _record(endpoint: Endpoint, key: str) -> JobRecord:
    return gateway_in(key.partition("/")[0]).get(endpoint, f"{endpoint.parent}/{key}")


def _newest(endpoint: Endpoint, collection: str, wanted: str) -> Iterator[JobRecord]:
    """Yield the first page of a list, which has the newest jobs first."""
    query: rest.Query = {"filter": wanted or None, "pageSize": OFFERED, "readMask": _FIELDS}
    with translated(endpoint, f"list the {gateway_in(collection).noun}s"):
        answer = rest.call(
            endpoint, "GET", f"{endpoint.vertex_url}/v1/{endpoint.parent}/{collection}", query=query
        )
    for wire in answer.get(collection, ()):
        yield from_wire(wire)


def _columns(records: Sequence[JobRecord]) -> Iterator[Column]:
    """Yield the columns: "run 3" if all are runs of one declaration, else the name and the end of the id."""
    numbers = [_number(record) for record in records]
    declarations = {
        record.labels.get(DECLARATION_LABEL) or identity_of(record.labels.get(RUN_LABEL, ""))
        for record in records
    }
    by_number = all(numbers) and len(set(numbers)) == len(records) and len(declarations) == 1
    for record, number in zip(records, numbers, strict=True):
        yield Column(
            key=job_key(record.name),
            name=record.display_name or record.job_id,
            title=f"run {number}" if by_number else f"{record.display_name} {record.job_id[-4:]}".strip(),
        )


def _number(record: JobRecord) -> str:
    """Return the number of the run, "" for a job that is not a numbered run."""
    run = record.labels.get(RUN_LABEL, "")
    number = run.rpartition("-")[2] if "-" in run else ""
    return number if number != "0" else ""


def _facts(record: JobRecord, cost: str, now: datetime) -> Mapping[str, str]:
    return {
        "Kind": gateway_of(record.name).noun,
        "Name": record.display_name,
        "Declared by": owner_of(record.labels).text,
        "Why it ran": words_of(record.labels.get(REASON_LABEL, "")),
        "State": record.state.word.lower(),
        "Created": status.moment(record.create_time),
        "Ran for": status.duration(record, now),
        "Cost": cost,
    }


def _changes(column: Column, record: JobRecord, base: JobRecord, changes: Sequence[str] | None) -> Changes:
    sentences = tuple(sentence for line in changes or () for sentence in line.split("; "))
    note = ""
    if record.collection != base.collection:
        one, other = gateway_of(record.name).noun, gateway_of(base.name).noun
        note = f"The kinds differ: a {one}, and a {other}."
    elif not sentences:
        note = _NOTHING
    return Changes(column=column, sentences=sentences, note=note)
