"""The arguments of `apply`."""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.cli.arguments import stack_options
from vertex_training.command_line.arguments import Parser, json_options


def apply_options(command: Parser) -> None:
    """Add the options of `apply`."""
    command.runs("command:apply", json_options, stack_options)
    command.value("--plan", "FILE", "file that `plan --save-plan FILE` wrote", type=Path, required=True)
    command.flag("--yes", "deploy it; without this, only check whether it can be deployed")
