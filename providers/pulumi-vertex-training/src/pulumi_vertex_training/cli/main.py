"""Entry point of `vertex-training`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.printed_commands import for_stack, runnable
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from vertex_training.command_line.answer import render
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output, for_streams
from vertex_training.command_line.run import command_of, run
from vertex_training.timeouts import VARIABLE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0, 1 (a failure), 2 (bad usage or input), or 130 after Ctrl-C."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks how the command line may go on
        from pulumi_vertex_training.cli.completion import answer

        answer.complete(parser.build(os.environ.get("COMP_LINE", "").split()))
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = for_streams(as_json="--json" in words, environment=os.environ, runnable=runnable)
    if "--markdown" in words and not output.as_json:
        from pulumi_vertex_training.views.markdown_output import MarkdownOutput

        output = MarkdownOutput(
            as_json=False, terminal=False, coloured_errors=output.coloured_errors, runnable=runnable
        )
    return run(lambda: _run(words, output), output, os.environ)


def _run(words: Sequence[str], output: Output) -> int:
    options = parser.parse(words)
    options.words = words
    options.timeouts = _timeouts(options)
    try:
        return render(command_of(options)(options, output), output)
    except CommandError as error:
        error.args = (for_stack(str(error), getattr(options, "stack", None)),)
        raise
    except CloudError as error:
        raise CommandError(str(error), reason=error.reason) from error


def _timeouts(options: argparse.Namespace) -> Timeouts:
    """Return the timeouts of this process. Raises InputError for a wrong scale, which `doctor` reports."""
    try:
        own = timeouts_of(os.environ)
    except ValueError as error:
        if options.command == "doctor":
            return ORDINARY
        raise InputError(str(error), path=VARIABLE) from None
    return own.for_emulator(options.data_dir) if hasattr(options, "data_dir") else own
