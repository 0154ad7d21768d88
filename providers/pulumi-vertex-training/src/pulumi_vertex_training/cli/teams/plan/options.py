"""The arguments of `plan`."""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.cli.arguments import report_options, stack_options
from vertex_training.command_line.arguments import Parser


def plan_options(command: Parser) -> None:
    """Add the options of `plan`."""
    command.runs("command:plan", report_options, stack_options)
    command.flag("--refresh", "read the real state of each resource before the preview")
    command.value(
        "--save-plan",
        "FILE",
        "write the plan into a file that `vertex-training apply --plan FILE` deploys",
        type=Path,
    )
    command.flag("--exit-code", "exit with code 1 if anything changes")
