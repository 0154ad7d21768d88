"""The arguments of `replica`. Imports nothing heavy."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import add_job, endpoint_options
from vertex_training.command_line.arguments import Parser


def replica_options(command: Parser) -> None:
    """Add the commands of `replica`."""
    command.group("replica_action", endpoint_options)
    execute = command.command(
        "exec", "run a command in a running replica of the emulator, with its rights", "command:execute"
    )
    add_job(execute)
    execute.value("replica", "REPLICA", "such as workerpool1-0")
    execute.value("program", "COMMAND", "the command and its arguments, after --", nargs="+")
