"""Exceptions that end the program with one line in the log instead of a traceback."""

from __future__ import annotations


class InputError(Exception):
    """An argument, a file or the environment is wrong: exit code 2."""


class PeerError(Exception):
    """Another replica did not arrive, left, or sent something unexpected: exit code 1."""


class OutputError(Exception):
    """A result cannot be written: exit code 1."""


class Terminated(BaseException):
    """The service asked this replica to stop (SIGTERM)."""
