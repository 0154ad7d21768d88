"""The arguments of `migrate-state`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import stack_options
from vertex_training.command_line.arguments import Parser, json_options


def migrate_state_options(command: Parser) -> None:
    """Add the options of `migrate-state`."""
    command.runs("command:migrate", json_options, stack_options)
    command.choice("--to", ("package", "dynamic"), "form that the resources are to have", required=True)
    command.flag("--yes", "move it; without it, only show what would move")
