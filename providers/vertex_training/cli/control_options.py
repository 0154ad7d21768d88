"""The arguments of `emulator start-delay`. Imports nothing heavy."""

from __future__ import annotations

import argparse
from typing import Any

from vertex_training.cli.fault_options import Group, a_time


def add_to(emulator: Group, actions: Any, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands; `parents` have the options that all commands of the emulator have."""
    delay = emulator.command(
        actions,
        "start-delay",
        "let new jobs wait before their replicas start, as while machines are provisioned",
        parents=parents,
    )
    delay.add_argument(
        "seconds", type=a_time, metavar="SECONDS", nargs="?", help="0: at once (default: show what is set)"
    )
