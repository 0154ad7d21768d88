"""`jobs`, `status`, `logs` and `cancel`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from vertex_training.cli import job_lookup, target
from vertex_training.cli.failure import CommandError, InputError, did_you_mean
from vertex_training.cli.output import Output
from vertex_training.cloud import custom_jobs, emulator_view, logs
from vertex_training.cloud.custom_jobs import JobRecord, JobState
from vertex_training.cloud.emulator_view import ReplicaState
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import FailedPrecondition

_SERVICE = "service"


def list_jobs(options: argparse.Namespace, output: Output) -> None:
    """The command `jobs`."""
    endpoint = target.resolve(target.of_options(options))
    records = custom_jobs.list_live(endpoint) if options.live else custom_jobs.list_jobs(endpoint)
    if output.as_json:
        output.document({"endpoint": _endpoint(endpoint), "jobs": [_summary(one) for one in records]})
    elif not records:
        output.note(f"No {'live ' if options.live else ''}jobs ({endpoint}).")
    else:
        rows = [
            (one.job_id, one.display_name, one.state.word, moment(one.create_time), _duration(one))
            for one in records
        ]
        output.table(("ID", "NAME", "STATE", "CREATED", "RAN FOR"), rows, state_column=2)


def status(options: argparse.Namespace, output: Output) -> None:
    """The command `status`."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    replicas = emulator_view.replicas(endpoint, record.job_id)
    if output.as_json:
        document = {**_summary(record), "jobSpec": record.wire.get("jobSpec", {})}
        if replicas is not None:
            document["replicas"] = [_replica(one) for one in replicas]
        output.document(document)
        return
    _print_status(record, replicas, output)


def print_logs(options: argparse.Namespace, output: Output) -> None:
    """The command `logs`."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    tasks = _tasks(record)
    if options.task is not None and options.task not in tasks:
        raise InputError(
            f"Job {record.job_id} has no task {options.task!r}.{did_you_mean(options.task, tasks)} "
            f"Tasks: {', '.join(tasks)}.",
            path="--task",
        )
    last = record

    def ended() -> bool:
        nonlocal last
        if not last.state.is_terminal:
            last = custom_jobs.get(endpoint, record.name)
        return last.state.is_terminal

    if options.follow:
        entries = logs.follow(endpoint, record.job_id, ended=ended, task=options.task)
    else:
        entries = logs.entries(endpoint, record.job_id, task=options.task)
    width = max(map(len, tasks))
    numbers = {task: number for number, task in enumerate(tasks)}
    any_entry = False
    for entry in entries:
        any_entry = True
        task = entry.task or _SERVICE
        if output.as_json:
            print(json.dumps(_entry(entry), ensure_ascii=False), flush=True)
        else:
            number = numbers.setdefault(task, len(numbers))
            output.log_line(
                task=task, severity=entry.severity, message=entry.message, width=width, number=number
            )
    if options.follow:
        output.note(f"Job {record.job_id}: {last.state.word}.{_reason(last)}")
    elif not any_entry:
        output.note(f"Job {record.job_id} ({record.state.word}) has logged nothing so far.")


def cancel(options: argparse.Namespace, output: Output) -> None:
    """The command `cancel`. To cancel what is cancelled already is no failure."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    if not record.state.is_terminal:
        try:
            custom_jobs.cancel(endpoint, record.name)
        except FailedPrecondition:
            record = custom_jobs.get(endpoint, record.name)  # it ended meanwhile
            if not record.state.is_terminal:
                raise
        else:
            record = custom_jobs.get(endpoint, record.name)
    if record.state.is_terminal and record.state is not JobState.JOB_STATE_CANCELLED:
        raise CommandError(
            f"Job {record.job_id} ({record.display_name}) has ended before: {record.state.word}.", path="JOB"
        )
    if output.as_json:
        output.document(_summary(record))
    else:
        output.line(f"Job {record.job_id} ({record.display_name}): {record.state.word}.")


def _print_status(record: JobRecord, replicas: Sequence[ReplicaState] | None, output: Output) -> None:
    facts = [
        ("Job", record.job_id),
        ("Name", record.display_name),
        ("Resource", record.name),
        ("State", record.state.word),
        ("Created", moment(record.create_time)),
        ("Started", moment(record.start_time)),
        ("Ended", moment(record.end_time)),
        ("Ran for", _duration(record)),
        ("Error", record.error.message if record.error else ""),
        ("Labels", ", ".join(f"{key}={value}" for key, value in sorted(record.labels.items()))),
    ]
    for name, value in facts:
        if value:
            output.line(f"{name + ':':<10}{value}".replace("\n", f"\n{'':<10}"))
    if replicas:
        output.line()
        rows = [
            (
                one.name,
                one.role,
                one.state,
                "" if one.exit_code is None else str(one.exit_code),
                _attempt(one),
            )
            for one in replicas
        ]
        output.table(("REPLICA", "ROLE", "STATE", "EXIT CODE", "ATTEMPT"), rows, state_column=2)


def _summary(record: JobRecord) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": record.job_id,
        "name": record.name,
        "displayName": record.display_name,
        "state": record.state.name,
        "createTime": record.create_time,
        "startTime": record.start_time,
        "endTime": record.end_time,
        "labels": dict(record.labels),
    }
    if record.error:
        document["error"] = {"code": record.error.code, "message": record.error.message}
    return document


def _replica(one: ReplicaState) -> dict[str, Any]:
    return {
        "name": one.name,
        "role": one.role,
        "state": one.state,
        "exitCode": one.exit_code,
        "attempt": one.attempt,
        "jobAttempt": one.job_attempt,
    }


def _attempt(one: ReplicaState) -> str:
    """ "3", or "3 (job 2)" once the job was restarted as a whole."""
    return f"{one.attempt} (job {one.job_attempt})" if one.job_attempt > 1 else str(one.attempt)


def _entry(entry: logs.LogEntry) -> dict[str, str]:
    return {
        "timestamp": entry.timestamp,
        "severity": entry.severity,
        "task": entry.task,
        "message": entry.message,
        "insertId": entry.insert_id,
    }


def _endpoint(endpoint: Endpoint) -> dict[str, str]:
    return {"kind": endpoint.kind, "project": endpoint.project, "location": endpoint.location}


def _tasks(record: JobRecord) -> list[str]:
    """The names that entries of the job's log can have."""
    pools = record.wire.get("jobSpec", {}).get("workerPoolSpecs", [])
    replicas = [
        f"workerpool{index}-{number}"
        for index, pool in enumerate(pools)
        for number in range(int(pool.get("replicaCount", 0)))
    ]
    return [*replicas, _SERVICE]


def _reason(record: JobRecord) -> str:
    return f" {record.error.message}" if record.error else ""


def moment(timestamp: str | None) -> str:
    """In the user's time zone, to the second."""
    if not timestamp:
        return ""
    return logs.parse_time(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _duration(record: JobRecord) -> str:
    """From the job's first RUNNING to its end, or until now; such as "1:02:03"."""
    if not record.start_time:
        return ""
    end = logs.parse_time(record.end_time) if record.end_time else datetime.now(timezone.utc)
    seconds = max(int((end - logs.parse_time(record.start_time)).total_seconds()), 0)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
