"""The arguments of `prices`."""

from __future__ import annotations

import argparse

from vertex_training.command_line.arguments import Parser, json_options

REFRESH = "refresh"


def _action(text: str) -> str:
    if text != REFRESH:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed here; give `{REFRESH}`, or `--of NAME` for a machine or accelerator"
        )
    return text


def prices_options(command: Parser) -> None:
    """Add the options of `prices`."""
    command.runs("command:prices", json_options)
    command.value(
        "action",
        REFRESH,
        "read the Cloud Billing catalog with your Application Default Credentials, and keep the prices",
        nargs="?",
        type=_action,
        choices=(REFRESH,),
    )
    place = command.add_mutually_exclusive_group()
    place.add_argument("--location", metavar="L", help="region of the prices (default: us-central1)")
    place.add_argument(
        "--of",
        metavar="NAME",
        help="compare the regions for one SKU, accelerator or machine type, such as n1-standard-4",
    )
