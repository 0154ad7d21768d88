"""Define the arguments of `placement`. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re

from vertex_training.command_line.arguments import Parser, json_options, whole_number
from vertex_training.findings.words import did_you_mean

_LARGEST = 10_000
_STRATEGIES = ("replication", "round-robin")


def placement_options(command: Parser) -> None:
    """Add the options of `placement`."""
    command.runs("command:placement", json_options)
    command.value(
        "--strategy",
        "{replication,round-robin}",
        "every worker trains all subnetworks, or each worker a part of them (default: round-robin)",
        type=_strategy,
        default="round-robin",
    )
    command.value("--workers", "N", "number of workers, including the chief", type=_from_one, required=True)
    command.value("--ps", "N", "number of parameter servers (default: 0)", type=_from_zero, default=0)
    command.value(
        "--subnetworks",
        "N[,N...]",
        "number of subnetworks, or one number for each iteration",
        type=_several,
        required=True,
    )
    command.flag(
        "--drop-remainder", "round-robin with too few workers: drop subnetworks instead of sharing workers"
    )
    command.flag(
        "--no-dedicate",
        "round-robin: spread every subnetwork over all parameter servers, not over its own group",
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
