"""Define the arguments of the commands that control a running emulator. Imports nothing heavy."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any, Protocol

_JOB = (
    "full name, id, or display name; a display name that several jobs have means the one that has not ended"
)
_LARGEST = 1_000_000


class Group(Protocol):
    """A parser to which commands can be added."""

    def command(self, group: Any, name: str, text: str, **kwargs: Any) -> Any: ...


def add_to(emulator: Group, actions: Any, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands; `parents` have the options that all commands of the emulator have."""
    _add_fault_commands(emulator, actions, parents)
    clock = emulator.command(
        actions, "clock", "show its clock, stop it, let time pass or run faster", parents=parents
    )
    _add_clock(clock, clock.add_subparsers(metavar="COMMAND", dest="clock_action"), parents)
    quota = emulator.command(actions, "quota", "limit the accelerators that jobs can have")
    _add_quota(quota, quota.add_subparsers(metavar="COMMAND", dest="quota_action", required=True), parents)
    delay = emulator.command(
        actions,
        "start-delay",
        "let new jobs wait before their replicas start, as while machines are provisioned",
        parents=parents,
    )
    delay.add_argument(
        "seconds", type=_seconds, metavar="SECONDS", nargs="?", help="0: at once (default: show what is set)"
    )
    changes = emulator.command(
        actions,
        "persistent-resource-delay",
        "let each change of a persistent resource take a while",
        parents=parents,
    )
    changes.add_argument(
        "seconds", type=_seconds, metavar="SECONDS", nargs="?", help="0: none (default: show what is set)"
    )
    limit = emulator.command(
        actions, "replica-limit", "limit the replicas that run at once on this machine", parents=parents
    )
    limit.add_argument(
        "replicas", type=_count, metavar="REPLICAS", nargs="?", help="(default: show what is set)"
    )
    unknown = emulator.command(
        actions,
        "unknown-types",
        "take or refuse machine types that the emulator does not know",
        parents=parents,
    )
    unknown.add_argument("answer", choices=("allow", "refuse"), nargs="?", help="(default: show what is set)")
    contract = emulator.command(
        actions, "contract", "give jobs CLUSTER_SPEC as real jobs get it, or as documented", parents=parents
    )
    contract.add_argument(
        "contract", choices=("observed", "documented"), nargs="?", help="(default: show what is set)"
    )
    replica = emulator.command(actions, "replica", "kill or preempt a replica of a job")
    commands = replica.add_subparsers(metavar="COMMAND", dest="replica_action", required=True)
    _add_replica(replica, commands, parents)
    export = emulator.command(actions, "export", "write all that it holds to a file", parents=parents)
    export.add_argument("file", type=Path, metavar="FILE", help="a new file, such as state.tar")
    importing = emulator.command(
        actions, "import", "add what such a file holds, all of it or nothing", parents=parents
    )
    importing.add_argument("file", type=Path, metavar="FILE", help="a file that `emulator export` wrote")


def _add_clock(clock: Any, commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    clock.command(commands, "show", "show the time, and how fast it passes", parents=parents)
    clock.command(commands, "freeze", "let the clock stand still", parents=parents)
    advance = clock.command(commands, "advance", "let time pass at once", parents=parents)
    advance.add_argument("seconds", type=_seconds, metavar="SECONDS")
    scale = clock.command(
        commands, "scale", "let time pass faster; a frozen clock goes again", parents=parents
    )
    scale.add_argument("factor", type=_factor, metavar="FACTOR", help="so many seconds pass in one")
    clock.command(commands, "reset", "take the time of this machine again", parents=parents)


def _add_quota(quota: Any, commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    add = quota.command(commands, "set", "set the quota of an accelerator, or of vCPUs", parents=parents)
    add.add_argument(
        "metric", metavar="METRIC", help="an accelerator such as NVIDIA_L4, or nvidia_l4_gpus, cpus, n2_cpus"
    )
    add.add_argument("limit", type=_limit, metavar="LIMIT", help="so many at the same time")
    add.add_argument("--region", metavar="R", help="in this region (default: in each, each its own)")
    add.add_argument(
        "--preemptible", action="store_true", help="the quota of jobs on Spot VMs and with FLEX_START"
    )
    add.add_argument(
        "--when-exceeded",
        choices=("refuse", "queue"),
        help="default: a job that needs more than all of it is refused, others are queued",
    )
    quota.command(commands, "list", "show the quotas and what is used of them", parents=parents)
    clear = quota.command(commands, "clear", "remove all quotas, or some", parents=parents)
    clear.add_argument("metric", metavar="METRIC", nargs="?", help="those of this one")
    clear.add_argument("--region", metavar="R", help="those of this region")


def _add_replica(replica: Any, commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    kill = replica.command(commands, "kill", "end its program by SIGKILL", parents=parents)
    preempt = replica.command(
        commands, "preempt", "take its machine away, as a Spot VM's: SIGTERM, then SIGKILL", parents=parents
    )
    for one in (kill, preempt):
        one.add_argument("job", metavar="JOB", help=_JOB)
        one.add_argument("replica", metavar="REPLICA", help="such as workerpool1-0")
        one.add_argument(
            "--after",
            type=_seconds,
            metavar="SECONDS",
            default=0.0,
            help="once it has run so long (default: 0)",
        )
        one.add_argument(
            "--times", type=_count, metavar="N", default=1, help="so many of its starts (default: 1)"
        )
    kill.add_argument("--out-of-memory", action="store_true", help="as if it had used up the memory")


def _factor(text: str) -> float:
    factor = _seconds(text)
    if not factor:
        raise argparse.ArgumentTypeError("0 is not possible; `freeze` lets the clock stand still")
    return factor


def _limit(text: str) -> int:
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else math.inf
    if limit > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not possible; give a whole number from 0")
    return int(limit)


def _add_fault_commands(emulator: Group, actions: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add `fault` and `requests`; `parents` have the options that all commands of the emulator have."""
    fault = emulator.command(actions, "fault", "make calls fail, hang or lose their answer")
    _add_faults(fault, fault.add_subparsers(metavar="COMMAND", dest="fault_action", required=True), parents)
    requests = emulator.command(
        actions, "requests", "show the last requests, and count the calls of each method", parents=parents
    )
    requests.add_argument(
        "--last", type=_count, metavar="N", default=20, help="so many at most (default: 20; 2,000 are kept)"
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
    add.add_argument("--status", type=_count, metavar="CODE", help="answer with this error, such as 503")
    add.add_argument("--message", metavar="TEXT", help="the text of that answer")
    add.add_argument(
        "--drop",
        choices=("before", "after"),
        help="close the connection without an answer, before or after the call was carried out",
    )
    add.add_argument(
        "--stale-seconds", type=_seconds, metavar="S", help="ListCustomJobs only: the list as it was S s ago"
    )
    add.add_argument(
        "--stale-changes",
        type=_count,
        metavar="K",
        help="ListCustomJobs only: the list before the last K jobs were created or deleted",
    )
    add.add_argument("--stall", type=_seconds, metavar="S", help="let S seconds pass first")
    add.add_argument("--delay", type=_seconds, metavar="S", help="carry the call out, and answer S s later")
    add.add_argument("--nth", type=_count, metavar="N", help="begin with the Nth call from now (default: 1)")
    often = add.add_mutually_exclusive_group()
    often.add_argument("--times", type=_count, metavar="N", help="so many calls (default: 1)")
    often.add_argument("--always", action="store_true", help="until the fault is removed")
    fault.command(commands, "list", "show the faults that are set, and how often each came", parents=parents)
    clear = fault.command(commands, "clear", "remove all faults, or one", parents=parents)
    clear.add_argument("number", type=_count, metavar="FAULT", nargs="?", help="its number")


def _count(text: str) -> int:
    """A whole number from 1; the type of an argument."""
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else 0
    if not 1 <= number <= _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not possible; give a whole number from 1")
    return number


def _seconds(text: str) -> float:
    """Seconds; the type of an argument."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (math.isfinite(seconds) and seconds >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time; give seconds, such as 0.5")
    return seconds
