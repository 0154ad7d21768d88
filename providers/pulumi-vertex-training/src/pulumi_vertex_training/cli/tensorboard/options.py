"""The arguments of `tensorboard`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import add_job, endpoint_options
from vertex_training.command_line.arguments import Parser, json_options, port


def tensorboard_options(command: Parser) -> None:
    """Add the options of `tensorboard`."""
    command.runs("command:tensorboard", json_options, endpoint_options)
    add_job(command, many=True)
    command.value("--port", "P", "port on 127.0.0.1 (default: 6006, or the next free one)", type=port)
