"""The argument JOB: the job of the emulator that a command is about. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from vertex_training.command_line.arguments import Parser
from vertex_training.command_line.errors import InputError
from vertex_training.findings.words import did_you_mean

FindJob: TypeAlias = "Callable[[argparse.Namespace, Sequence[Mapping[str, Any]]], str]"
"""Return the id of the job that JOB names, one of the emulator's. Raises InputError."""

_ENDING = frozenset(
    f"JOB_STATE_{state}" for state in ("SUCCEEDED", "FAILED", "CANCELLING", "CANCELLED", "EXPIRED")
)


def add_job(command: Parser) -> None:
    """Add the argument JOB."""
    command.value("job", "JOB", "a job's display name, id or full name")


def find_job(options: argparse.Namespace, jobs: Sequence[Mapping[str, Any]]) -> str:
    """Return the id of the job with the display name, id or full name JOB. A live job precedes ended ones."""
    alike = [job for job in jobs if options.job in (job["displayName"], job["id"], job["name"])]
    found = [job for job in alike if job["state"] not in _ENDING] or alike
    if not found:
        raise unknown_job(options.job, jobs)
    if len(found) > 1:
        ids = ", ".join(job["id"] for job in found)
        raise InputError(
            f"{len(found)} jobs are named {options.job!r}. Give the id of one of them: {ids}.", path="JOB"
        )
    return str(found[0]["id"])


def unknown_job(
    text: str, jobs: Sequence[Mapping[str, Any]], *, name: str = "", names: Sequence[str] = ()
) -> InputError:
    """Return the error for a JOB that does not exist.

    `name` is the part of it that is compared with display names, ids and further `names` of the jobs.
    """
    known = [*(job["displayName"] for job in jobs), *(job["id"] for job in jobs), *names]
    return InputError(f"The emulator has no job {text!r}.{did_you_mean(name or text, known)}", path="JOB")
