"""The arguments of `preflight`."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli.arguments import endpoint_options, report_options, stack_options
from pulumi_vertex_training.cli.explain.options import FILE_HELP, check_options
from vertex_training.command_line.arguments import Parser, seconds

_LONGEST_TIMEOUT = 600


def preflight_options(command: Parser) -> None:
    """Add the options of `preflight`."""
    command.runs("command:preflight", report_options, stack_options, endpoint_options)
    check_options(command, location=False)
    command.value(
        "file",
        "FILE",
        f"{FILE_HELP}. Without FILE, the jobs that the next deployment of a stack submits",
        nargs="?",
    )
    command.value(
        "--timeout",
        "SECONDS",
        "longest time that all lookups together may take (default: 10, times VERTEX_TRAINING_TIMEOUT_SCALE)",
        type=_timeout,
    )


def _timeout(text: str) -> float:
    value = seconds(text)
    if not 0 < value <= _LONGEST_TIMEOUT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a timeout; give a number of seconds up to {_LONGEST_TIMEOUT}"
        )
    return value
