"""The options and texts that several commands share."""

from __future__ import annotations

from pathlib import Path

from vertex_emulator import data_dir_options
from vertex_training.command_line.arguments import Parser

KINDS = ("custom-job", "tuning-job", "training-pipeline")
"""The values of `--kind`."""

JOB_HELP = (
    "name of a resource of the selected stack; PROJECT/STACK/NAME for any stack; or a job's display name, id "
    "or full name"
)


def add_job(command: Parser, *, many: bool = False, is_optional: bool = False) -> None:
    """Add the argument JOB, and the option that names its stack."""
    if many:
        command.value("jobs", "JOB", JOB_HELP, nargs="+")
    elif is_optional:
        command.value("job", "JOB", f"{JOB_HELP} (default: the newest job of the selected stack)", nargs="?")
    else:
        command.value("job", "JOB", JOB_HELP)
    add_stack(command, "stack of the job, as STACK or PROJECT/STACK (default: the one selected here)")


def add_times(command: Parser) -> None:
    """Add `--times`."""
    command.flag("--times -t", "begin each line of the log with its time of day; --json has whole timestamps")


def add_stack(command: Parser, text: str) -> None:
    """Add the option that names the stack of jobs."""
    command.value("--stack", "S", text)


def report_options(command: Parser) -> None:
    """Add the options of a command that prints for people, for programs, or for a comment."""
    formats = command.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print JSON")
    formats.add_argument(
        "--markdown", action="store_true", help="print Markdown, for an issue or a comment of a pull request"
    )


def stack_options(command: Parser) -> None:
    """Add the options that name a stack and its program."""
    folder_options(command)
    command.value("--stack -s", "S", "stack (default: the selected one)")


def folder_options(command: Parser) -> None:
    """Add the option that names the folder of a Pulumi program."""
    command.value("--cwd -C", "DIR", "folder of the Pulumi program (default: this one)", type=Path)


def endpoint_options(command: Parser) -> None:
    """Add the options of a command that asks the emulator or Google Cloud."""
    data_dir_options(command)
    command.choice(
        "--endpoint",
        ("emulator", "google"),
        "service to use (default: the emulator if it is running, else Google Cloud if --project or "
        "--location is given)",
    )
    command.value("--project", "P", "project id (default in the emulator: local)")
    command.value("--location", "L", "region (default: us-central1)")
