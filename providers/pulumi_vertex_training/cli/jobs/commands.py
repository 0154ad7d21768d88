"""`status`, `logs`, `cancel` and `import`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.jobs import declaration_source, hidden_values
from pulumi_vertex_training.cli.jobs import lookup as job_lookup
from pulumi_vertex_training.cli.jobs import status as status_view
from pulumi_vertex_training.cli.jobs.declaration_source import Origin, declaration, declared_form
from pulumi_vertex_training.cli.jobs.lookup import Found
from pulumi_vertex_training.cli.jobs.resources import Wanted, resource_of
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs import progress
from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose, examine, has_failed
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.logs import SERVICE, RunLog, ShownMessages
from pulumi_vertex_training.views.failure import CommandError, InputError
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.output import Output
from vertex_training.findings.words import did_you_mean, visible
from vertex_training.job.job_kind import JobKind


def status(options: argparse.Namespace, output: Output) -> None:
    """Run the command `status`."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, job_lookup.wanted_of(options, options.job)).record
    replicas = status_view.replicas(endpoint, record)
    waits_for = status_view.waits_for(endpoint, record)
    deliveries = status_view.deliveries(endpoint, record)
    cancelled = job_lookup.cancelled_jobs(endpoint, [record])
    diagnosis = examine(endpoint, record) if has_failed(record) else None
    report = status_view.report_of(endpoint, record)
    if output.as_json:
        document = {**job_lookup.summary(record), **view_of(record).status(record, cancelled)}
        document = hidden_values.without_values(document, show=options.show_secrets)
        document["progress"] = progress.as_json(report)
        if diagnosis is not None:
            document["diagnosis"] = status_view.diagnosis_json(diagnosis)
        if waits_for:
            document["waitsFor"] = waits_for
        if deliveries:
            document["notifications"] = [status_view.delivery_json(one) for one in deliveries]
        if replicas is not None:
            document["replicas"] = [_replica(one) for one in replicas]
        output.document(document)
        return
    status_view.print_status(
        endpoint,
        record,
        replicas,
        diagnosis,
        cancelled,
        output,
        report=report,
        waits_for=waits_for,
        deliveries=deliveries,
    )


def print_logs(options: argparse.Namespace, output: Output) -> None:
    """Run the command `logs`."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, job_lookup.wanted_of(options, options.job)).record
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
    width = max(map(len, tasks))
    numbers = {task: number for number, task in enumerate(tasks)}
    any_entry = False
    messages = ShownMessages(raw=options.raw, with_tails=bool(options.task))
    for entry in entries:
        any_entry = True
        task = entry.task or SERVICE
        if output.as_json:
            output.document_line(entry_json(entry))
        elif (message := messages.of(entry)) is not None:
            number = numbers.setdefault(task, len(numbers))
            output.log_line(
                task=task,
                severity=entry.severity,
                message=message,
                width=width,
                number=number,
                raw=options.raw,
            )
    if options.follow:
        output.note(f"Job {record.job_id}: {last.state.word}.{reason_of(last)}")
    elif not any_entry:
        output.note(f"Job {record.job_id} ({record.state.word}) has no log entries yet.")


def cancel(options: argparse.Namespace, output: Output) -> None:
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
    if output.as_json:
        output.document(job_lookup.summary(record))
    else:
        output.line(f"Job {record.job_id} ({record.display_name}): {record.state.word}.")


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


def _replica(one: ReplicaState) -> dict[str, Any]:
    return {
        "name": one.name,
        "role": one.role,
        "state": one.state,
        "exitCode": one.exit_code,
        "attempt": one.attempt,
        "jobAttempt": one.job_attempt,
    }


def entry_json(entry: logs.LogEntry) -> dict[str, str]:
    """Return the JSON of a log entry, see docs/reference/json.md."""
    return {
        "timestamp": entry.timestamp,
        "severity": entry.severity,
        "task": entry.task,
        "message": entry.message,
        "insertId": entry.insert_id,
    }


def reason_of(record: JobRecord) -> str:
    """Return the service's error and the likely cause, after a space; the log lines in it were printed."""
    if record.error is None:
        return ""
    diagnosis = diagnose(record.error.message)
    cause = f" Likely cause: {diagnosis.cause}. {diagnosis.remedy}" if diagnosis.cause else ""
    return f" {diagnosis.words}{cause}"


def import_job(options: argparse.Namespace, output: Output) -> None:
    """Run the command `import`. Changes neither the resource nor a stack."""
    endpoint = target.resolve(target.of_options(options))
    found = declaration_source.find_named(endpoint, options.job, show_secrets=options.show_secrets)
    if found is not None:
        if output.as_json:
            output.document({"resource": found.name, "python": found.python, "spec": dict(found.spec)})
        else:
            output.line(found.python.rstrip("\n"))
            if found.hides_values:
                output.note(hidden_values.NOTE)
        return
    record = job_lookup.find(endpoint, job_lookup.wanted_of(options, options.job)).record
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        spec = kind.from_wire(hidden_values.without_values(record.wire, show=options.show_secrets))
    except ValueError as error:
        raise CommandError(f"{kind.noun} {record.job_id} cannot be imported: {error}.", path="JOB") from error
    origin = Origin(
        job=f"{endpoint.parent}/{record.collection}/{record.job_id}",
        project=None if endpoint.project.isdigit() else endpoint.project,
        location=endpoint.location,
        run=record.labels.get(RUN_LABEL),
        resource=gateway_of(record.name).message,
    )
    python = declaration(kind, spec, origin)
    if output.as_json:
        declared = kind.to_wire(declared_form(kind, spec))
        output.document({"resource": record.name, "python": python, "spec": declared})
    else:
        output.line(python.rstrip("\n"))
        _note_hidden(record.wire, options, output)


def _note_hidden(wire: Mapping[str, Any], options: argparse.Namespace, output: Output) -> None:
    """Report on standard error that values are hidden."""
    if not options.show_secrets and hidden_values.has_values(wire):
        output.note(hidden_values.NOTE)
