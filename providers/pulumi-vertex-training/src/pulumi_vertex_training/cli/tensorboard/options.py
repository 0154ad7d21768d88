"""The arguments of `tensorboard`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import Parser, add_job, endpoint_options, json_options, port


def tensorboard_options(command: Parser) -> None:
    """Add the options of `tensorboard`."""
    command.runs("command:tensorboard", json_options, endpoint_options)
    add_job(command, many=True)
    command.value("--port", "P", "port on 127.0.0.1 (default: 6006, or the next free one)", type=port)
