"""Entry point of `vertex-training`. Every failure becomes one message, never a traceback."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.failure import FAILED, CommandError, InputError
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from pulumi_vertex_training.views import output as output_module
from pulumi_vertex_training.views.answer import Answer, render
from pulumi_vertex_training.views.output import Output
from vertex_training.timeouts import VARIABLE

_INTERRUPTED = 130
_DEBUG = "VERTEX_TRAINING_DEBUG"

Command = Callable[[argparse.Namespace, Output], "Answer | int | None"]
"""Reads, and returns an answer; one that prints as it goes, such as a log, returns its exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0, 1 (a failure), 2 (bad usage or input), or 130 after Ctrl-C."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks how the command line may go on
        from pulumi_vertex_training.cli.completion import answer

        answer.complete(parser.build(os.environ.get("COMP_LINE", "").split()))
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = output_module.for_streams(as_json="--json" in words)
    if "--markdown" in words and not output.as_json:
        from pulumi_vertex_training.views.markdown_output import MarkdownOutput

        output = MarkdownOutput(as_json=False, terminal=False)
    try:
        options = parser.parse(words)
        options.words = words
        options.timeouts = _timeouts(options)
        result = _command(options)(options, output) or 0
        code = render(result, output) if isinstance(result, Answer) else result
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _end(output, str(error), error.exit_code, path=error.path)
    except CloudError as error:
        return _end(output, str(error), FAILED, reason=error.reason)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Without this, Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        return _end(output, f"{what}. Set {_DEBUG}=1 to get a traceback.", FAILED)


def _end(output: Output, message: str, code: int, *, path: str = "", reason: str = "") -> int:
    entry = {"message": message, **({"path": path} if path else {}), **({"reason": reason} if reason else {})}
    output.errors([entry])
    return code


def _timeouts(options: argparse.Namespace) -> Timeouts:
    """Return the timeouts of this process. Raises InputError for a wrong scale, which `doctor` reports."""
    try:
        own = timeouts_of(os.environ)
    except ValueError as error:
        if options.command == "doctor":
            return ORDINARY
        raise InputError(str(error), path=VARIABLE) from None
    return own.for_emulator(options.data_dir) if hasattr(options, "data_dir") else own


def _command(options: argparse.Namespace) -> Command:
    """Import the module of the command, and only this one, and return the command's function."""
    module, _, function = options.handler.partition(":")
    command: Command = getattr(importlib.import_module(module), function)
    return command
