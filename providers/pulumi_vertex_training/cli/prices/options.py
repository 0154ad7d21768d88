"""The arguments of `prices`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pulumi_vertex_training.cli.arguments import Parser, Subparsers

REFRESH = "refresh"


def _action(text: str) -> str:
    if text != REFRESH:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed here; give `{REFRESH}`, or `--of NAME` for a machine or accelerator"
        )
    return text


def add_to(parser: Parser, commands: Subparsers, *, parents: Sequence[argparse.ArgumentParser]) -> None:
    """Add the command."""
    prices = parser.command(
        commands,
        "prices",
        "show the prices that costs are calculated with; `refresh` reads Google's current ones",
        parents=parents,
    )
    prices.add_argument(
        "action",
        nargs="?",
        type=_action,
        choices=(REFRESH,),
        metavar=REFRESH,
        help="read the Cloud Billing catalog with your Application Default Credentials, and keep the prices",
    )
    place = prices.add_mutually_exclusive_group()
    place.add_argument("--location", metavar="L", help="region of the prices (default: us-central1)")
    place.add_argument(
        "--of",
        metavar="NAME",
        help="compare the regions for one SKU, accelerator or machine type, such as n1-standard-4",
    )
