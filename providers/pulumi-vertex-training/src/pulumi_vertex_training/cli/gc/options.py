"""The arguments of `gc`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import endpoint_options
from vertex_training.command_line.arguments import Parser, json_options


def gc_options(command: Parser) -> None:
    """Add the options of `gc`."""
    command.runs("command:collect", json_options, endpoint_options)
    command.value(
        "names",
        "NAME",
        "only these resources: ids, full names or gs:// addresses. --yes deletes them even if they are "
        "not proven orphans",
        nargs="*",
    )
    command.flag("--yes", "delete the proven orphans")
    command.value(
        "--backend",
        "URL",
        "Pulumi backend whose stacks to read; repeatable (default: the one that `pulumi` uses here)",
        action="append",
        default=[],
    )
    command.value(
        "--pulumi-project",
        "NAME",
        "list only jobs, persistent resources and models of this Pulumi project (default: the one in "
        "Pulumi.yaml here or above, else all)",
    )
