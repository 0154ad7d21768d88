"""The content of the emulator, kept up to date: after the first time, only what has changed is read again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import Changes
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import Inner, gateway_in
from pulumi_vertex_training.runs.monitoring import waits
from pulumi_vertex_training.runs.monitoring.progress import Report
from pulumi_vertex_training.ui.source import inventory
from pulumi_vertex_training.ui.source.inventory import Inventory, JobRow, Others
from pulumi_vertex_training.views.jobs import lookup, status
from pulumi_vertex_training.views.jobs.listing import Listing
from pulumi_vertex_training.views.study_view import cancelled_job_keys, job_key
from vertex_emulator import machine_clock

_ONE_BY_ONE = 50
"""Jobs that are read one by one; if more have changed, all are listed."""

_RESULTS_AT_ONCE = 100
"""Ended jobs whose last metrics are read with one view, the newest first."""

_REPORT_SECONDS = 1.0
"""Seconds between two reads of the reports of running jobs and of what other jobs wait for."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A row, and what it was made of."""

    record: JobRecord
    inner: Inner | None
    report: Report | None
    wait: str
    result: Report | None
    row: JobRow


class LiveInventory:
    """The inventory, with the state from which it is kept up to date. Safe for threads."""

    def __init__(self, *, clock: Callable[[], float] = machine_clock.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._place: tuple[str | None, str, str] | None = None
        self._forget()

    def read(self, endpoint: Endpoint) -> Inventory:
        """Return all that exists. Raises CloudError."""
        if not endpoint.is_emulator:
            return inventory.read(endpoint)
        with self._lock:
            place = (endpoint.url, endpoint.project, endpoint.location)
            if place != self._place:
                self._forget()
                self._place = place
            try:
                return self._read(endpoint)
            except BaseException:
                self._forget()
                raise

    def _forget(self) -> None:
        self._changes: Changes | None = None
        self._records: dict[str, JobRecord] = {}
        self._others = Others()
        self._reports: Mapping[str, Report] = {}
        self._waits: Mapping[str, str] = {}
        self._results: Mapping[str, Report | None] = {}
        self._reported = float("-inf")
        self._rows: dict[str, _Row] = {}

    def _read(self, endpoint: Endpoint) -> Inventory:
        changes = emulator_api.changes_after(endpoint, self._changes)
        jobs = [name for name in changes.names or () if _is_job(name)]
        if changes.is_everything or len(jobs) > _ONE_BY_ONE:
            self._records = inventory.records(endpoint)
        else:
            for key in jobs:
                self._read_one(endpoint, key)
        if changes.is_everything or len(jobs) < len(changes.names or ()):
            self._others = inventory.others(endpoint)
        self._changes = changes
        is_due = self._clock() - self._reported >= _REPORT_SECONDS
        if is_due or jobs or changes.is_everything:
            self._waits = waits.waits_of(endpoint, self._records.values())
        if is_due:
            self._reports = status.reports_of(endpoint, self._records.values())
            self._reported = self._clock()
        self._results = self._with_new_results(endpoint)
        return self._shown(endpoint)

    def _with_new_results(self, endpoint: Endpoint) -> Mapping[str, Report | None]:
        """Return the last reports of ended custom jobs by full name. Read some that are not known yet."""
        ended = [
            record
            for record in lookup.newest_first(self._records.values())
            if record.state.is_terminal and record.collection == registry.CUSTOM_JOB.collection
        ]
        known = {record.name: self._results[record.name] for record in ended if record.name in self._results}
        new = [record for record in ended if record.name not in known][:_RESULTS_AT_ONCE]
        if not new:
            return known
        reports = call_each(lambda record: status.report_of(endpoint, record), new)
        return {**known, **dict(zip((record.name for record in new), reports, strict=True))}

    def _read_one(self, endpoint: Endpoint, key: str) -> None:
        try:
            record = gateway_in(key.partition("/")[0]).get(endpoint, f"{endpoint.parent}/{key}")
        except (NotFound, InvalidArgument):  # it was deleted, or is in another project or location
            self._records.pop(key, None)
        else:
            self._records[key] = record

    def _shown(self, endpoint: Endpoint) -> Inventory:
        records = self._records
        selected = tuple(lookup.newest_first(records.values()))
        custom = registry.CUSTOM_JOB.collection
        found = Listing(
            selected=selected,
            records=records,
            inner=lookup.inner_jobs(_owners(selected)),
            cancelled=cancelled_job_keys(one for key, one in records.items() if key.startswith(custom)),
            reports=self._reports,
            waits=self._waits,
        )
        rows = {key: self._row(found, key, record) for key, record in _keyed(selected)}
        self._rows = rows
        return inventory.of(endpoint, (one.row for one in rows.values()), self._others)

    def _row(self, found: Listing, key: str, record: JobRecord) -> _Row:
        """Return the row of a job: the last one if it is the same. Those of its owners depend on others."""
        known, inner, report = self._rows.get(key), found.inner.get(key), found.reports.get(record.name)
        wait, result = found.waits.get(record.name, ""), self._results.get(record.name)
        if (
            known is not None
            and known.record is record
            and known.inner == inner
            and known.report == report
            and known.wait == wait
            and known.result == result
            and record.collection == registry.CUSTOM_JOB.collection
        ):
            return known
        row = inventory.job_row(found, record, result=result)
        return _Row(record=record, inner=inner, report=report, wait=wait, result=result, row=row)


def _is_job(name: str) -> bool:
    return name.partition("/")[0] in [entry.collection for entry in registry.RUNNABLE]


def _keyed(records: Iterable[JobRecord]) -> Iterable[tuple[str, JobRecord]]:
    return ((job_key(one.name), one) for one in records)


def _owners(records: Iterable[JobRecord]) -> Iterable[JobRecord]:
    """Return the jobs that may run others: a custom job runs none."""
    return (one for one in records if one.collection != registry.CUSTOM_JOB.collection)
