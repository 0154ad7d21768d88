"""The arguments of `top` and `watch`."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli.arguments import KINDS, add_job, add_stack, add_times, endpoint_options
from vertex_training.command_line.arguments import Parser, json_options, seconds


def top_options(command: Parser) -> None:
    """Add the options of `top`."""
    command.runs("top:top", json_options, endpoint_options)
    command.choice("--kind", KINDS, "show only one kind (default: all kinds)")
    add_stack(command, "show only the jobs of a stack, as STACK or PROJECT/STACK (default: all jobs)")
    _add_interval(command)


def watch_options(command: Parser) -> None:
    """Add the options of `watch`."""
    command.runs("watch:watch", json_options, endpoint_options)
    add_job(command)
    add_times(command)
    _add_interval(command)


def _add_interval(command: Parser) -> None:
    command.value(
        "--interval",
        "SECONDS",
        "seconds between two reads (default: 0.5 on the emulator, 5 on Google Cloud)",
        type=_interval,
    )


def _interval(text: str) -> float:
    value = seconds(text)
    if value < 0.1:
        raise argparse.ArgumentTypeError(f"{text!r} is too short; give 0.1 seconds or more")
    return value
