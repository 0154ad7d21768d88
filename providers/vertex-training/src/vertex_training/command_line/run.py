"""Run one command. Every failure becomes one message, never a traceback."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output

_INTERRUPTED = 130
_DEBUG = "VERTEX_TRAINING_DEBUG"

Command = Callable[[argparse.Namespace, Output], "Answer | int | None"]
"""Reads, and returns an answer; one that prints as it goes, such as a log, returns its exit code."""


def command_of(options: argparse.Namespace) -> Command:
    """Import the module of the chosen command, and only this one, and return the command's function."""
    module, _, function = options.handler.partition(":")
    command: Command = getattr(importlib.import_module(module), function)
    return command


def run(work: Callable[[], int], output: Output, environment: Mapping[str, str]) -> int:
    """Return the exit code of `work`, or print its error and return 1, 2, or 130 after Ctrl-C."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _end(output, error)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Without this, Python would print an error at exit.
        with suppress(BrokenPipeError):
            sys.stdout.close()
        return 0
    except Exception as error:
        if environment.get(_DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        return _end(output, CommandError(f"{what}. Set {_DEBUG}=1 to get a traceback."))


def _end(output: Output, error: CommandError) -> int:
    parts = {"message": str(error), "path": error.path, "reason": error.reason}
    output.errors([{name: part for name, part in parts.items() if part or name == "message"}])
    return error.exit_code
