"""`drift`: read the live state of a stack's resources, and report each that differs from Pulumi's state."""

from __future__ import annotations

import argparse
import sys

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.drift import view
from pulumi_vertex_training.cli.drift.drift import report
from pulumi_vertex_training.cli.drift.refresh import refresh
from pulumi_vertex_training.views.failure import BAD_INPUT, FAILED
from pulumi_vertex_training.views.output import Output


def drift(options: argparse.Namespace, output: Output) -> int:
    """Run the command `drift`. Return 2 if a resource was not read, and 1 with --exit-code for any drift."""
    folder = pulumi_command.folder_of(options.cwd)
    if sys.stderr.isatty():
        output.note("Reading the live resources ...")
    found = report(refresh(folder, options.stack, options.timeouts))
    place = view.Place(stack=options.stack, folder=str(options.cwd) if options.cwd else None)
    if output.as_json:
        output.document(view.document(found, place))
    elif options.markdown:
        output.line(view.markdown(found, place))
    else:
        view.show(found, place, output)
    if found.errors or found.unread:
        return BAD_INPUT
    return FAILED if found.drifts and options.exit_code else 0
