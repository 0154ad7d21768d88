"""The arguments of `drift`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import report_options, stack_options
from vertex_training.command_line.arguments import Parser


def drift_options(command: Parser) -> None:
    """Add the options of `drift`."""
    command.runs("command:drift", report_options, stack_options)
    command.flag("--exit-code", "exit with code 1 if anything has drifted")
