"""The arguments of `runs`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import KINDS, add_stack, endpoint_options
from vertex_training.command_line.arguments import Parser, json_options


def runs_options(command: Parser) -> None:
    """Add the options of `runs`."""
    command.runs("command:list_runs", json_options, endpoint_options)
    command.value(
        "name",
        "NAME",
        "name of a resource of the selected stack; PROJECT/STACK/NAME for any stack; or a job's display "
        "name, id or full name",
        nargs="?",
    )
    command.value(
        "--by",
        "LABEL",
        "instead of a NAME: show what all jobs have cost, by the value of this label, such as "
        "pulumi-resource",
    )
    command.choice("--kind", KINDS, "kind of the resource")
    add_stack(command, "stack of the resource, as STACK or PROJECT/STACK (default: the one selected here)")
    command.value(
        "--pulumi-project",
        "NAME",
        "Pulumi project of the resource (default: the one in Pulumi.yaml here or above)",
    )
    command.value(
        "--compare",
        "RUN",
        "compare runs side by side: numbers, as this command prints them, or ids of jobs; one RUN is "
        "compared with the latest one (default: the last two)",
        nargs="*",
    )
