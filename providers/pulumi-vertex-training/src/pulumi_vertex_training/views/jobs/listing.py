"""Read and list the jobs of a project and location, with one row for a tuning job or pipeline."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import Inner, gateway_of, gateways
from pulumi_vertex_training.runs.monitoring import live_jobs, waits
from pulumi_vertex_training.runs.monitoring.progress import Report, as_json, in_words, metrics_in_words
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status
from pulumi_vertex_training.views.jobs import status as status_view
from pulumi_vertex_training.views.jobs.resources import resource_of
from pulumi_vertex_training.views.jobs.stack_filter import StackFilter
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.study_view import (
    ENDED,
    cancelled_job_keys,
    job_key,
    stopped_early,
    trial_json,
    trial_result,
    why_ended,
)
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import Cell, Output

_HEADINGS = ("ID", "KIND", "NAME", "STACK", "STATE", "CREATED", "RAN FOR", "DETAILS")
_ON_TERMINAL = 20
_LEFT_OUT = {"KIND": 150, "CREATED": 150, "STACK": 100}
"""Columns that a narrower terminal does not have: names and details need the space."""

_INDENT = "  "

Row = tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Jobs that were read.

    `selected` are the records to show, newest first. `records` are all that were read and `inner` the jobs
    that these run, both by key. `cancelled` are keys of cancelled custom jobs. `live` means that only jobs
    that have not ended were read. `reports` are running jobs', `results` the last ones of ended jobs, and
    `waits` what live jobs wait for, by full name. `now` is the service's time.
    """

    selected: tuple[JobRecord, ...]
    records: Mapping[str, JobRecord]
    inner: Mapping[str, Inner]
    cancelled: frozenset[str]
    live: bool = False
    reports: Mapping[str, Report] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, Report] = field(default_factory=dict)
    now: datetime = field(default_factory=partial(datetime.now, timezone.utc))


def read_jobs(
    endpoint: Endpoint,
    *,
    kind: str | None,
    live: bool,
    inner: bool,
    fields: str = "",
    stack: StackFilter | None = None,
) -> Listing:
    """Read the jobs to list, and the jobs that they belong to. Raises CloudError.

    `fields` are those to read of custom jobs, unless `live`; by default all. With a `stack` only its jobs are
    listed, and the jobs that these run.
    """
    selected = [one.collection for one in gateways() if kind in (None, one.flag)]
    owners = {one.collection for one in gateways() if set(one.runs) & set(selected)}
    wanted = {*selected, *owners}
    if inner:
        wanted |= {name for one in gateways() if one.collection in selected for name in one.runs}
    read = {
        one.collection: one.list_live(endpoint)
        if live
        else one.list_jobs(
            endpoint, fields=fields if one.collection == registry.CUSTOM_JOB.collection else ""
        )
        for one in gateways()
        if one.collection in wanted
    }
    records = {job_key(record.name): record for found in read.values() for record in found}
    if registry.CUSTOM_JOB.collection in read and not live:
        cancelled = cancelled_job_keys(read[registry.CUSTOM_JOB.collection])
    else:
        cancelled = job_lookup.cancelled_jobs(endpoint, records.values())
    owned = job_lookup.inner_jobs(records.values())

    def is_of_stack(record: JobRecord) -> bool:
        mine = owned.get(job_key(record.name))
        owner = records.get(job_key(mine.owner)) if mine else None
        return stack is None or stack.accepts(record.labels) or (owner is not None and is_of_stack(owner))

    found = (one for name in selected for one in read[name] if is_of_stack(one))
    shown = tuple(job_lookup.newest_first(found))
    return Listing(
        selected=shown,
        reports=status.reports_of(endpoint, shown),
        waits=waits.waits_of(endpoint, shown),
        records=records,
        inner=owned,
        cancelled=cancelled,
        live=live,
        now=live_jobs.now(endpoint, shown),
    )


def with_results(endpoint: Endpoint, listing: Listing, most: int | None) -> Listing:
    """Return the listing with the last reports of the newest custom jobs that have ended. Raises CloudError.

    `most` is as in `Jobs`; the results of at most `_ON_TERMINAL` jobs are read.
    """
    count = min(most or _ON_TERMINAL, _ON_TERMINAL)
    own = [record for record in listing.selected if job_key(record.name) not in listing.inner]
    ended = [
        record
        for record in own[:count]
        if record.state.is_terminal and record.collection == registry.CUSTOM_JOB.collection
    ]
    found = call_each(lambda record: status.report_of(endpoint, record), ended)
    results = {record.name: report for record, report in zip(ended, found, strict=True) if report}
    return replace(listing, results=results)


def document(listing: Listing, record: JobRecord) -> dict[str, Any]:
    """Return the JSON of one job, see docs/reference/json.md."""
    inner = listing.inner.get(job_key(record.name))
    found: dict[str, Any] = {**job_lookup.summary(record), "owner": inner.owner if inner else None}
    if inner and inner.trial:
        trial = trial_json(inner.trial, listing.cancelled)
        found["trial"] = {name: value for name, value in trial.items() if name != "job"}
    found["progress"] = as_json(listing.reports.get(record.name))
    found["waitsFor"] = listing.waits.get(record.name)
    return {**found, **view_of(record).listed(record, listing.cancelled)}


@dataclass(frozen=True, kw_only=True)
class Jobs(Answer):
    """The jobs of a project and location; `inner` also shows the jobs that others run, below their owners.

    `most` is the number of rows for people, 0 for all; None means `_ON_TERMINAL` on a terminal, else all.
    """

    endpoint: Endpoint
    listing: Listing
    inner: bool = False
    stack: StackFilter | None = None
    most: int | None = None

    def document(self) -> dict[str, Any]:
        jobs = [document(self.listing, record) for record in self.listing.selected]
        return {"endpoint": job_lookup.endpoint_json(self.endpoint), "jobs": jobs}

    def show(self, output: Output) -> None:
        listing, endpoint = self.listing, self.endpoint
        hidden = 0 if self.inner else sum(_is_hidden(listing, record) for record in listing.selected)
        most = self.most if self.most is not None else _ON_TERMINAL if output.terminal else 0
        if rows := list(_rows(listing, inner=self.inner)):
            shown = rows[:most] if most else rows
            _table(shown, output)
            if len(shown) < len(rows):
                output.note(f"{len(rows) - len(shown)} more; --last 0 lists all.")
        elif not hidden:
            live, of = "live " if listing.live else "", f" of {self.stack}" if self.stack else ""
            output.note(f"No {live}jobs{of} ({endpoint}).{target.location_hint(endpoint.location)}")
        if hidden:
            noun = (
                "job of a tuning job or pipeline is"
                if hidden == 1
                else "jobs of tuning jobs and pipelines are"
            )
            output.note(f"{hidden} {noun} not shown; --all shows them.")


def _table(rows: Sequence[Row], output: Output) -> None:
    """Print the rows; on a terminal each has one line, where it is narrow without kind, time and stack.

    The stack is left out of any terminal if it is the same in all rows.
    """
    width = shutil.get_terminal_size().columns
    left_out = {heading for heading, least in _LEFT_OUT.items() if output.terminal and width < least}
    if output.terminal and len({str(row[_HEADINGS.index("STACK")]) for row in rows}) == 1:
        left_out.add("STACK")
    kept = [column for column, heading in enumerate(_HEADINGS) if heading not in left_out]
    output.table(
        [_HEADINGS[column] for column in kept],
        [[row[column] for column in kept] for row in rows],
        optional=("STACK", "DETAILS"),
        one_line=("NAME", "STACK", "DETAILS"),
    )


def _rows(listing: Listing, *, inner: bool) -> Iterator[Row]:
    shown = {job_key(record.name) for record in listing.selected}
    for record in listing.selected:
        mine = listing.inner.get(job_key(record.name))
        if mine is None:
            yield from _with_inner(listing, record, inner=inner)
        elif job_key(mine.owner) not in shown and (inner or not _is_hidden(listing, record)):
            owner = f"{gateway_of(mine.owner).noun} {job_key(mine.owner).rpartition('/')[2]}"
            yield _row(listing, record, mine, of=owner)
            if inner:
                yield from _inner_rows(listing, record, depth=1)


def _is_hidden(listing: Listing, record: JobRecord) -> bool:
    """Return whether the job has no row because its owner, of a kind that is not listed, has none."""
    mine = listing.inner.get(job_key(record.name))
    shown = {_collection(one.name) for one in listing.selected}
    return mine is not None and not gateway_of(record.name).runs and _collection(mine.owner) not in shown


def _collection(name: str) -> str:
    return job_key(name).partition("/")[0]


def _with_inner(listing: Listing, record: JobRecord, *, inner: bool, depth: int = 0) -> Iterator[Row]:
    """Yield the row of a job, and below it the rows of the jobs that it runs."""
    yield _row(listing, record, listing.inner.get(job_key(record.name)), depth=depth)
    if inner:
        yield from _inner_rows(listing, record, depth=depth + 1)


def _inner_rows(listing: Listing, owner: JobRecord, *, depth: int) -> Iterator[Row]:
    backing = job_lookup.backing_of(owner)
    if backing and job_key(backing) in listing.records:
        yield from _with_inner(listing, listing.records[job_key(backing)], inner=True, depth=depth)
    for trial in gateway_of(owner.name).trials(owner):
        record = listing.records.get(job_key(trial.custom_job)) if trial.custom_job else None
        if listing.live and trial.state in ENDED and record is None:
            continue  # the job of a trial that has ended may still be stopping
        shown = record or JobRecord(
            name=trial.custom_job or "",
            display_name="",
            state=owner.state,
            start_time=trial.start_time,
            end_time=trial.end_time,
        )
        mine = Inner(name=shown.name, owner=owner.name, trial=trial)
        if shown.name or not owner.state.is_terminal:
            yield _row(listing, shown, mine, depth=depth)


def _row(listing: Listing, record: JobRecord, inner: Inner | None, *, depth: int = 0, of: str = "") -> Row:
    trial = inner.trial if inner else None
    state: Cell = record.state.word
    if trial:
        early = stopped_early(trial, listing.cancelled)
        state = (trial.state, "stopped early") if early else trial.state
        what, details = f"trial {trial.id}", trial_result(trial)
    else:
        what, details = gateway_of(record.name).noun, details_of(listing, record)
    return (
        _INDENT * depth + (record.job_id or "-"),
        what,
        record.display_name,
        resource_of(record).stack_name if record.name else "",
        state,
        status_view.moment(record.create_time),
        status_view.duration(record, listing.now),
        ", ".join(part for part in (f"of {of}" if of else "", details) if part),
    )


def details_of(listing: Listing, record: JobRecord) -> str:
    """Return the result of a tuning job, pipeline or failed job in a few words."""
    why = why_ended(record)
    report = listing.reports.get(record.name)
    words = tuple(view_of(record).details(record, listing.cancelled))
    if record.name in listing.waits:
        words = (*words, waits.in_short(listing.waits[record.name]))
    if report:
        words = (*words, in_words(report))
    if record.name in listing.results:
        words = (*words, *metrics_in_words(listing.results[record.name]))
    if words:
        return ", ".join((*words, why) if why else words)
    backing = job_lookup.backing_of(record)
    if backing is None:
        return why
    inner = f"{gateway_of(backing).noun} {job_key(backing).rpartition('/')[2]}"
    found = listing.records.get(job_key(backing))
    more = (details_of(listing, found) if found else "") or why
    return f"{inner}: {more}" if more else inner
