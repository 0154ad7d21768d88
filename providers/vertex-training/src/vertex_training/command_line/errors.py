"""Errors that end the command, with one message and the documented exit code."""

from __future__ import annotations

FAILED = 1
BAD_INPUT = 2


class CommandError(Exception):
    """The command failed: exit code 1. `path` is the argument at fault, `reason` the error of a service."""

    exit_code = FAILED

    def __init__(self, message: str, *, path: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.reason = reason


class InputError(CommandError):
    """An argument is wrong: exit code 2."""

    exit_code = BAD_INPUT
