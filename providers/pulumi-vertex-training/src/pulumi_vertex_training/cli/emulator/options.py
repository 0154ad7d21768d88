"""Mount the commands of `vertex-emulator`. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import vertex_emulator
from pulumi_vertex_training.cli.arguments import add_job
from vertex_training.command_line.arguments import Parser


def emulator_options(command: Parser) -> None:
    """Add the commands. JOB means the same as in all commands of the client."""
    vertex_emulator.emulator_options(command, add_job=add_job, find_job=_find_job)


def _find_job(options: argparse.Namespace, jobs: Sequence[Mapping[str, Any]]) -> str:
    from pulumi_vertex_training.cli.emulator.jobs import find_job

    return find_job(options, jobs)
