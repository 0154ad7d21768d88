"""`jobs`, `status`, `logs`, `cancel` and `import`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.jobs import declaration_source
from pulumi_vertex_training.cli.jobs.declaration_source import Origin, declaration, declared_form
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose, examine, has_failed
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.logs import SERVICE, RunLog, ShownMessages
from pulumi_vertex_training.runs.monitoring import live_jobs, waits
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import hidden_values, listing, stack_filter
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs import status as status_view
from pulumi_vertex_training.views.jobs.lookup import Found
from pulumi_vertex_training.views.jobs.resources import Wanted, resource_of
from pulumi_vertex_training.views.lineage import lineage_of
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import did_you_mean, visible
from vertex_training.job.job_kind import JobKind


def list_jobs(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `jobs`."""
    endpoint = target.resolve(target.of_options(options))
    stack = stack_filter.of_options(options)
    found = listing.read_jobs(endpoint, kind=options.kind, live=options.live, inner=options.all, stack=stack)
    if output.terminal:
        found = listing.with_results(endpoint, found, options.last)
    return listing.Jobs(endpoint=endpoint, listing=found, inner=options.all, stack=stack, most=options.last)


def _job(endpoint: Endpoint, options: argparse.Namespace) -> JobRecord:
    """Return the job that is named, or the newest one. Raises InputError."""
    if options.job is None:
        return job_lookup.newest(endpoint, options)
    return job_lookup.find(endpoint, job_lookup.wanted_of(options, options.job)).record


def status(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `status`."""
    endpoint = target.resolve(target.of_options(options))
    record = _job(endpoint, options)
    return status_view.Status(
        endpoint=endpoint,
        record=record,
        replicas=status_view.replicas(endpoint, record),
        diagnosis=examine(endpoint, record) if has_failed(record) else None,
        cancelled=job_lookup.cancelled_jobs(endpoint, [record]),
        report=status_view.report_of(endpoint, record),
        stragglers=status_view.stragglers_of(endpoint, record),
        waits_for=waits.wait_of(endpoint, record),
        deliveries=status_view.deliveries(endpoint, record),
        lineage=lineage_of(endpoint, record),
        shows_values=options.show_secrets,
        verbose=options.verbose,
        now=live_jobs.now(endpoint, [record]),
    )


def print_logs(options: argparse.Namespace, output: Output) -> None:
    """Run the command `logs`."""
    endpoint = target.resolve(target.of_options(options))
    record = _job(endpoint, options)
    log = RunLog(task=options.task)
    tasks = status_view.tasks(endpoint, record)
    if options.task is not None and options.task not in tasks:
        raise InputError(
            f"Job {record.job_id} has no task {options.task!r}.{did_you_mean(options.task, tasks)} "
            f"Tasks: {', '.join(tasks)}.",
            path="--task",
        )
    last = record
    log.see(endpoint, record)

    def again() -> Endpoint:
        nonlocal endpoint
        with contextlib.suppress(CommandError):  # the emulator is not running yet
            found = target.resolve(target.of_options(options))
            endpoint = found if found.is_emulator == endpoint.is_emulator else endpoint
        return endpoint

    def ended() -> bool:
        nonlocal last
        if not last.state.is_terminal:
            last = gateway_of(record.name).get(endpoint, record.name)
            log.see(endpoint, last)
        return last.state.is_terminal

    following = logs.follow(endpoint, log, ended=ended, reconnect=again)
    entries = following if options.follow else log.poll(endpoint)
    any_entry = _print_entries(entries, tasks, options, output)
    if options.follow:
        output.note(f"Job {record.job_id}: {last.state.word}.{reason_of(endpoint, last)}")
    elif not any_entry:
        output.note(f"Job {record.job_id} ({record.state.word}) has no log entries yet.")


def _print_entries(
    entries: Iterable[LogEntry], tasks: Sequence[str], options: argparse.Namespace, output: Output
) -> bool:
    """Print a log, and return whether it has an entry."""
    width = max(map(len, tasks))
    numbers = {task: number for number, task in enumerate(tasks)}
    any_entry = False
    messages = ShownMessages(raw=options.raw, with_tails=bool(options.task), is_brief=not options.task)
    for entry in entries:
        any_entry = True
        task = entry.task or SERVICE
        if output.as_json:
            output.document_line(json_of(entry))
        elif (message := messages.of(entry)) is not None:
            number = numbers.setdefault(task, len(numbers))
            output.log_line(
                task=task,
                severity=entry.severity,
                message=message,
                width=width,
                number=number,
                time=status_view.time_of_day(entry.timestamp) if options.times else "",
                raw=options.raw,
            )
    return any_entry


def cancel(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `cancel`. A job that is already cancelled is not a failure."""
    endpoint = target.resolve(target.of_options(options))
    wanted = job_lookup.wanted_of(options, options.job)
    found = job_lookup.find(endpoint, wanted)
    record, kind = found.record, gateway_of(found.record.name)
    if not record.state.is_terminal:
        _confirm(wanted, found, options, output)
        try:
            kind.cancel(endpoint, record.name)
        except FailedPrecondition:
            record = kind.get(endpoint, record.name)  # it ended in the meantime
            if not record.state.is_terminal:
                raise
        else:
            record = kind.get(endpoint, record.name)
    if record.state.is_terminal and record.state is not JobState.JOB_STATE_CANCELLED:
        raise CommandError(
            f"Job {record.job_id} ({record.display_name}) has already ended: {record.state.word}.", path="JOB"
        )
    said = f"Job {record.job_id} ({record.display_name}): {record.state.word}."
    return Sentences(job_lookup.summary(record), [said])


def _confirm(wanted: Wanted, found: Found, options: argparse.Namespace, output: Output) -> None:
    """Ask before a job is cancelled that may not be the user's. Raises InputError where nobody can answer."""
    if options.yes or job_lookup.is_certainly_meant(wanted, found):
        return
    record, resource, here = found.record, resource_of(found.record), wanted.here()
    who = f"{resource.kind} {record.job_id} ({record.display_name}, {record.state.word})"
    if not resource.stack:
        whose = f"No stack submitted {who}"
    else:
        whose = f"{who} is of stack {resource.stack_name}"
        if here.stack is None:
            whose += ", and no stack is selected here"
        elif here.accepts(record.labels):
            whose += (
                ", but not certainly of the stack that is selected here: its state does not have the job, or "
            )
            whose += "jobs of several declarations have this name"
        else:
            whose += f"; {here} is selected here"
    if sys.stdin.isatty() and output.terminal:
        if input(visible(f"{whose}. Cancel it? [y/N] ")).strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was cancelled.")
        return
    raise InputError(f"{whose}. To cancel it, run `{wanted.command(wanted.text)} --yes`.", path="--yes")


def reason_of(endpoint: Endpoint, record: JobRecord) -> str:
    """Return the service's error and the likely cause, after a space; the log lines in it were printed."""
    if record.error is None:
        return ""
    if endpoint.is_emulator:
        diagnosis = examine(endpoint, record)
    else:  # a log of Google Cloud may be late
        diagnosis = diagnose(record.error.message, has_started=bool(record.start_time))
    cause = f" Likely cause: {diagnosis.cause}. {diagnosis.remedy}" if diagnosis.cause else ""
    return f" {diagnosis.words}{cause}"


def import_job(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `import`. Changes neither the resource nor a stack."""
    endpoint = target.resolve(target.of_options(options))
    found = declaration_source.find_named(endpoint, options.job, show_secrets=options.show_secrets)
    if found is not None:
        return _imported(found.name, found.python, found.spec, hides=found.hides_values)
    record = _job(endpoint, options)
    entry = registry.runnable(record.collection)
    kind: JobKind[Any] = entry.part("kind", "KIND", JobKind)
    try:
        spec = kind.from_wire(hidden_values.without_values(record.wire, show=options.show_secrets))
    except ValueError as error:
        raise CommandError(f"{kind.noun} {record.job_id} cannot be imported: {error}.", path="JOB") from error
    origin = Origin(
        job=f"{endpoint.parent}/{record.collection}/{record.job_id}",
        project=None if endpoint.project.isdigit() else endpoint.project,
        location=endpoint.location,
        run=record.labels.get(RUN_LABEL),
        resource=entry.resources[0],
    )
    python = declaration(kind, spec, origin)
    declared = kind.to_wire(declared_form(kind, spec))
    hides = not options.show_secrets and hidden_values.has_values(record.wire)
    return _imported(record.name, python, declared, hides=hides)


def _imported(name: str, python: str, spec: Mapping[str, Any], *, hides: bool) -> Answer:
    keys = {"resource": name, "python": python, "spec": dict(spec)}
    return Sentences(keys, [python.rstrip("\n")], [hidden_values.NOTE] if hides else [])
