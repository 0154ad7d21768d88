"""The arguments of `mcp`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import endpoint_options, folder_options
from vertex_training.command_line.arguments import Parser


def mcp_options(command: Parser) -> None:
    """Add the options of `mcp`."""
    command.runs("command:serve", endpoint_options, folder_options)
    command.flag("--allow-deploy", "also offer the tool `deploy`, which deploys a plan of the tool `plan`")
