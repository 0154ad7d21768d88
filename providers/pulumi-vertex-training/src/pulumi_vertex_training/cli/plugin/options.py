"""The arguments of `plugin`."""

from __future__ import annotations

from pathlib import Path

from vertex_training.command_line.arguments import Parser, json_options


def plugin_options(command: Parser) -> None:
    """Add the options of `plugin`."""
    command.group("action", json_options)
    install = command.command(
        "install", "put it where Pulumi finds its plugins; again after an upgrade", "command:install"
    )
    install.value(
        "--pulumi-home", "FOLDER", "Pulumi's folder (default: PULUMI_HOME, else ~/.pulumi)", type=Path
    )
