"""The arguments of the commands for jobs. Imports nothing heavy."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli.arguments import (
    JOB_HELP,
    KINDS,
    add_job,
    add_stack,
    add_times,
    endpoint_options,
)
from pulumi_vertex_training.views.jobs import hidden_values
from vertex_training.command_line.arguments import Parser, json_options


def jobs_options(command: Parser) -> None:
    """Add the options of `jobs`."""
    command.runs("commands:list_jobs", json_options, endpoint_options)
    command.flag("--live", "list only jobs that have not ended")
    command.choice(
        "--kind",
        KINDS,
        "list only one kind; trials and the jobs of pipelines are custom jobs (default: all kinds)",
    )
    command.flag(
        "--all --trials",
        "also list the trials of tuning jobs and the jobs of pipelines, below their owners; --json "
        "always lists them, with their owner",
    )
    command.value(
        "--last",
        "N",
        "list the newest N jobs, 0 for all; --json always lists all (default: 20 on a terminal, else all)",
        type=_count,
    )
    add_stack(command, "list only the jobs of a stack, as STACK or PROJECT/STACK (default: all jobs)")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def status_options(command: Parser) -> None:
    """Add the options of `status`."""
    command.runs("commands:status", json_options, endpoint_options)
    add_job(command, is_optional=True)
    command.flag("--verbose", "also print the job's full name and its labels")
    hidden_values.add_option(command)


def logs_options(command: Parser) -> None:
    """Add the options of `logs`."""
    command.runs("commands:print_logs", json_options, endpoint_options)
    add_job(command, is_optional=True)
    command.flag("--follow -f", "keep printing until the job has ended")
    add_times(command)
    command.value("--task", "T", "print only one replica, such as workerpool0-0")
    command.flag(
        "--raw", "on a terminal, pass on the control sequences that the program printed, such as colours"
    )


def cancel_options(command: Parser) -> None:
    """Add the options of `cancel`."""
    command.runs("commands:cancel", json_options, endpoint_options)
    add_job(command)
    command.flag("--yes", "do not ask for confirmation")


def import_options(command: Parser) -> None:
    """Add the options of `import`."""
    command.runs("commands:import_job", json_options, endpoint_options)
    command.value(
        "job",
        "NAME",
        f"{JOB_HELP}; gs://BUCKET; or the full name of a repository, model or persistent "
        "resource, which may begin with repositories/, models/ or persistentResources/",
    )
    add_stack(command, "stack of the job, as STACK or PROJECT/STACK (default: the one selected here)")
    hidden_values.add_option(command)
