"""`promote`: run in one stack the images, packages and values that another stack has tried."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.promote import apply, plan, view
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output


def promote(options: argparse.Namespace, output: Output) -> int:
    """Run the command `promote`. Without --yes it changes nothing."""
    if options.source == options.to:
        raise InputError(
            f"--from and --to both name stack {options.to}. Name the stack that has tried the run, and the "
            "one that is to run it.",
            path="--to",
        )
    folder = pulumi_command.folder_of(options.cwd)

    def tell(text: str) -> None:
        if sys.stderr.isatty():
            output.note(text)

    tell("Reading both stacks ...")
    found = plan.make(folder, options.source, options.to, options.run, options.timeouts)
    sent = apply.carry_out(found, folder, options.timeouts, tell) if options.yes else None
    if output.as_json:
        output.document(view.document(found, sent))
    elif options.markdown:
        output.line(view.markdown(found, _arguments(options), done=sent is not None))
    else:
        view.show(found, sent, _arguments(options), output)
    return 0


def _arguments(options: argparse.Namespace) -> Mapping[str, str | None]:
    """Return the arguments of the command, to print it with --yes."""
    return {
        "--from": options.source,
        "--to": options.to,
        "--run": options.run,
        "--cwd": str(options.cwd) if options.cwd else None,
    }
