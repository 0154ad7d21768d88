"""The arguments of `completion`."""

from __future__ import annotations

from vertex_training.command_line.arguments import Parser, json_options

SHELLS = ("bash", "zsh", "fish")


def completion_options(command: Parser) -> None:
    """Add the options of `completion`."""
    command.runs("command:completion", json_options)
    command.choice("shell", SHELLS, "the shell")
