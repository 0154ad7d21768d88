"""`drift`: read the live state of a stack's resources, and report each that differs from Pulumi's state."""

from __future__ import annotations

import argparse
import sys

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.drift import view
from pulumi_vertex_training.cli.teams.drift.drift import report
from pulumi_vertex_training.cli.teams.drift.refresh import refresh
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import Output


def drift(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `drift`."""
    folder = pulumi_command.folder_of(options.cwd)
    if sys.stderr.isatty():
        output.note("Reading the live resources ...")
    found = report(refresh(folder, options.stack, options.timeouts))
    place = view.Place(stack=options.stack, folder=str(options.cwd) if options.cwd else None)
    return view.DriftAnswer(report=found, place=place, fails_on_drift=options.exit_code)
