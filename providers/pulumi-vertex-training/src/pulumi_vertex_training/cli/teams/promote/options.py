"""The arguments of `promote`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import folder_options, report_options
from vertex_training.command_line.arguments import Parser


def promote_options(command: Parser) -> None:
    """Add the options of `promote`."""
    command.runs("command:promote", report_options, folder_options)
    command.value("--from", "S", "stack that has run them", dest="source", required=True)
    command.value("--to", "S", "stack that is to run them", required=True)
    command.value(
        "--run",
        "RUN",
        "run to promote: NAME/NUMBER or NUMBER as `vertex-training runs NAME` prints it, or the id of "
        "its job (default: the last run of each job)",
    )
    command.flag("--yes", "promote; without it, only show the plan")
