"""The arguments of `trace`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import endpoint_options
from vertex_training.command_line.arguments import Parser, json_options


def trace_options(command: Parser) -> None:
    """Add the options of `trace`."""
    command.runs("command:trace", json_options, endpoint_options)
    command.value(
        "what",
        "WHAT",
        "MODEL or MODEL@VERSION; gs:// address of a model's files, a package or data; IMAGE@DIGEST; git "
        "commit; datasets/ID; or key of a run",
    )
