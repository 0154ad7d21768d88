"""The arguments of `emulator fault` and `emulator requests`. Imports nothing heavy."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any, Protocol

_LARGEST = 1_000_000


class Group(Protocol):
    """A parser to which commands can be added."""

    def command(self, group: Any, name: str, text: str, **kwargs: Any) -> Any: ...


def add_to(emulator: Group, actions: Any, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add both commands; `parents` have the options that all commands of the emulator have."""
    fault = emulator.command(actions, "fault", "make calls fail, hang or lose their answer")
    _add_faults(fault, fault.add_subparsers(metavar="COMMAND", dest="fault_action", required=True), parents)
    requests = emulator.command(
        actions, "requests", "show the last requests, and count the calls of each method", parents=parents
    )
    requests.add_argument(
        "--last", type=a_count, metavar="N", default=20, help="so many at most (default: 20; 2,000 are kept)"
    )
    requests.add_argument("--forget", action="store_true", help="begin the record and the counts anew")


def _add_faults(fault: Any, commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    add = fault.command(
        commands, "add", "set a fault: what happens, and to which calls of a method", parents=parents
    )
    add.add_argument(
        "method",
        metavar="METHOD",
        help="such as JobService.CreateCustomJob, ListCustomJobs, storage.objects.insert, 'storage.*' or '*'",
    )
    add.add_argument("--status", type=a_count, metavar="CODE", help="answer with this error, such as 503")
    add.add_argument("--message", metavar="TEXT", help="the text of that answer")
    add.add_argument(
        "--drop",
        choices=("before", "after"),
        help="close the connection without an answer, before or after the call was carried out",
    )
    add.add_argument(
        "--stale-seconds", type=a_time, metavar="S", help="ListCustomJobs only: the list as it was S s ago"
    )
    add.add_argument(
        "--stale-changes",
        type=a_count,
        metavar="K",
        help="ListCustomJobs only: the list before the last K jobs were created or deleted",
    )
    add.add_argument("--stall", type=a_time, metavar="S", help="let S seconds pass first")
    add.add_argument("--delay", type=a_time, metavar="S", help="carry the call out, and answer S s later")
    add.add_argument("--nth", type=a_count, metavar="N", help="begin with the Nth call from now (default: 1)")
    often = add.add_mutually_exclusive_group()
    often.add_argument("--times", type=a_count, metavar="N", help="so many calls (default: 1)")
    often.add_argument("--always", action="store_true", help="until the fault is removed")
    fault.command(commands, "list", "show the faults that are set, and how often each came", parents=parents)
    clear = fault.command(commands, "clear", "remove all faults, or one", parents=parents)
    clear.add_argument("number", type=a_count, metavar="FAULT", nargs="?", help="its number")


def a_count(text: str) -> int:
    """A whole number from 1; the type of an argument."""
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else 0
    if not 1 <= number <= _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not possible; give a whole number from 1")
    return number


def a_time(text: str) -> float:
    """Seconds; the type of an argument."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (math.isfinite(seconds) and seconds >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time; give seconds, such as 0.5")
    return seconds
