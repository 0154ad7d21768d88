"""Define the arguments of `placement`. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re

from pulumi_vertex_training.cli.arguments import Parser, Subparsers, json_options, whole_number
from vertex_training.findings.words import did_you_mean

_LARGEST = 10_000
_STRATEGIES = ("replication", "round-robin")


def add_to(parser: Parser, commands: Subparsers) -> None:
    """Add the command."""
    placement = parser.command(
        commands,
        "placement",
        "show which worker builds and trains which part of an ensemble, and where its variables are",
        parents=[json_options()],
    )
    placement.add_argument(
        "--strategy",
        type=_strategy,
        metavar="{replication,round-robin}",
        default="round-robin",
        help="every worker trains all subnetworks, or each worker a part of them (default: round-robin)",
    )
    placement.add_argument(
        "--workers", type=_from_one, metavar="N", required=True, help="number of workers, including the chief"
    )
    placement.add_argument(
        "--ps", type=_from_zero, metavar="N", default=0, help="number of parameter servers (default: 0)"
    )
    placement.add_argument(
        "--subnetworks",
        type=_several,
        metavar="N[,N...]",
        required=True,
        help="number of subnetworks, or one number for each iteration",
    )
    placement.add_argument(
        "--drop-remainder",
        action="store_true",
        help="round-robin with too few workers: drop subnetworks instead of sharing workers",
    )
    placement.add_argument(
        "--no-dedicate",
        action="store_true",
        help="round-robin: spread every subnetwork over all parameter servers, not over its own group",
    )


def _strategy(text: str) -> str:
    """Check a strategy. A class name such as RoundRobinStrategy is rejected with a hint."""
    if text in _STRATEGIES:
        return text
    short = re.sub(r"[^a-z]", "", text.casefold()).removesuffix("strategy")
    same = [known for known in _STRATEGIES if known.replace("-", "") == short]
    hint = did_you_mean(same[0] if same else text, _STRATEGIES)
    raise argparse.ArgumentTypeError(f"{text!r} is not a strategy.{hint} Use {' or '.join(_STRATEGIES)}")


def _from_zero(text: str) -> int:
    return whole_number(text, least=0, most=_LARGEST)


def _from_one(text: str) -> int:
    return whole_number(text, least=1, most=_LARGEST)


def _several(text: str) -> tuple[int, ...]:
    return tuple(_from_one(part.strip()) for part in text.split(","))
