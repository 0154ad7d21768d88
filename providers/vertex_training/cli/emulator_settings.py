"""`emulator start-delay`: what a test sets in a running emulator beside faults."""

from __future__ import annotations

import argparse

from vertex_training.cli.emulator_control import control_of
from vertex_training.cli.output import Output


def start_delay(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.seconds is not None:
            control.set_start_delay(options.seconds)
        seconds = control.start_delay()
    if output.as_json:
        output.document({"seconds": seconds})
    elif seconds:
        output.line(f"New jobs wait for {seconds:g} s before their replicas start.")
    else:
        output.line("New jobs start at once.")
