"""The arguments of `ui`, whose function is in the package of the dashboard."""

from __future__ import annotations

from vertex_emulator import data_dir_options
from vertex_training.command_line.arguments import Parser, json_options, port


def ui_options(command: Parser) -> None:
    """Add the options of `ui`."""
    command.package = "pulumi_vertex_training.ui"
    command.runs("command:serve", json_options, data_dir_options)
    command.flag("--open", "also open it in the browser")
    command.value("--port", "P", "port to listen on (default: any free one)", type=port)
    command.choice(
        "--endpoint",
        ("emulator", "google"),
        "what to show (default: the emulator); Google Cloud with your credentials",
    )
    command.value("--project", "P", "project id to show (default: local, or GOOGLE_CLOUD_PROJECT)")
    command.value("--location", "L", "region to show (default: us-central1)")
    command.flag(
        "--allow-actions",
        "on Google Cloud, allow to cancel jobs and to run them again (on the emulator, always allowed)",
    )
