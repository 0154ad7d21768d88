"""`mcp`: serve the commands to an agent on standard input and output."""

from __future__ import annotations

import argparse
import os
import sys

from vertex_emulator import extras
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output


def serve(options: argparse.Namespace, _: Output) -> None:
    """Run the command `mcp`, until the agent closes standard input."""
    if problem := extras.problem(extras.MCP):
        raise CommandError(problem)
    if sys.stdin.isatty():
        raise InputError(
            "An agent starts this command, and talks to it on standard input. In the agent's configuration, "
            "name the folder of your Pulumi program: `vertex-training mcp --cwd DIR`.",
            path="mcp",
        )
    if options.data_dir is not None:
        options.data_dir = options.data_dir.absolute()
    if options.cwd is not None:
        try:
            os.chdir(options.cwd)
        except OSError as error:
            raise InputError(f"{options.cwd} is not a folder: {error.strerror}.", path="--cwd") from error
    from pulumi_vertex_training.cli.mcp import server

    server.run(options)
