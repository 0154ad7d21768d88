"""Define the arguments of the commands that control a running emulator. Imports nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli.arguments import Parser, Subparsers, add_job, seconds, whole_number

_LARGEST = 1_000_000
_LAST_PORT = 65_535


def add_to(emulator: Parser, actions: Subparsers, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands. `parents` have the options that all commands of the emulator share."""
    _add_fault_commands(emulator, actions, parents)
    clock = emulator.command(
        actions, "clock", "show its clock, freeze it, advance it or speed it up", parents=parents
    )
    _add_clock(clock, clock.add_subparsers(metavar="COMMAND", dest="clock_action"), parents)
    quota = emulator.command(actions, "quota", "limit the accelerators that jobs can have")
    _add_quota(quota, quota.add_subparsers(metavar="COMMAND", dest="quota_action", required=True), parents)
    _add_permissions(emulator, actions, parents)
    _add_settings(emulator, actions, parents)
    replica = emulator.command(actions, "replica", "kill or preempt a replica of a job, or reach its ports")
    commands = replica.add_subparsers(metavar="COMMAND", dest="replica_action", required=True)
    _add_replica(replica, commands, parents)
    export = emulator.command(actions, "export", "write all data of the emulator to a file", parents=parents)
    export.add_argument("file", type=Path, metavar="FILE", help="a new file, such as state.tar")
    importing = emulator.command(
        actions, "import", "add the data of an exported file, all of it or nothing", parents=parents
    )
    importing.add_argument("file", type=Path, metavar="FILE", help="file written by `emulator export`")


def _add_settings(emulator: Parser, actions: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands that show or change a single setting."""

    def add(name: str, text: str, argument: str, **kwargs: Any) -> None:
        kwargs["help"] = f"{kwargs.get('help', '')} (default: show the setting)".lstrip()
        emulator.command(actions, name, text, parents=parents).add_argument(argument, nargs="?", **kwargs)

    delay: dict[str, Any] = {"type": seconds, "metavar": "SECONDS", "help": "0 for none"}
    add("start-delay", "delay the start of new jobs, as provisioning machines does", "seconds", **delay)
    add("persistent-resource-delay", "delay each change of a persistent resource", "seconds", **delay)
    add(
        "replica-limit",
        "limit the replicas that run at the same time",
        "replicas",
        type=_count,
        metavar="REPLICAS",
    )
    add(
        "unknown-types",
        "allow or refuse machine types that the emulator does not know",
        "answer",
        choices=("allow", "refuse"),
    )
    add(
        "contract",
        "set CLUSTER_SPEC as in real jobs, or as documented",
        "contract",
        choices=("observed", "documented"),
    )
    add(
        "network",
        "set the network of replicas: that of this machine, or one for each job (Linux)",
        "network",
        choices=("host", "namespace"),
    )


def _add_clock(clock: Parser, commands: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    clock.command(commands, "show", "show the time and the speed of the clock", parents=parents)
    clock.command(commands, "freeze", "freeze the clock", parents=parents)
    advance = clock.command(commands, "advance", "advance the clock", parents=parents)
    advance.add_argument("seconds", type=seconds, metavar="SECONDS")
    scale = clock.command(
        commands, "scale", "run the clock faster; a frozen clock starts again", parents=parents
    )
    scale.add_argument(
        "factor", type=_factor, metavar="FACTOR", help="seconds of the clock for each real second"
    )
    clock.command(commands, "reset", "return to the time of this machine", parents=parents)


def _add_quota(quota: Parser, commands: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    add = quota.command(commands, "set", "set the quota of an accelerator, or of vCPUs", parents=parents)
    add.add_argument(
        "metric", metavar="METRIC", help="an accelerator such as NVIDIA_L4, or nvidia_l4_gpus, cpus, n2_cpus"
    )
    add.add_argument(
        "limit", type=_limit, metavar="LIMIT", help="number of units that jobs can use at the same time"
    )
    add.add_argument(
        "--region", metavar="R", help="only in this region (default: in every region separately)"
    )
    add.add_argument("--preemptible", action="store_true", help="set the quota for Spot VMs and FLEX_START")
    add.add_argument(
        "--when-exceeded",
        choices=("refuse", "queue"),
        help="default: refuse a job that needs more than the whole quota, queue other jobs",
    )
    quota.command(commands, "list", "show the quotas and their usage", parents=parents)
    clear = quota.command(commands, "clear", "remove all quotas, or some", parents=parents)
    clear.add_argument("metric", metavar="METRIC", nargs="?", help="only quotas of this metric")
    clear.add_argument("--region", metavar="R", help="only quotas of this region")


_RESOURCE = "gs://BUCKET, projects/PROJECT, a repository's name, or a service account's address"


def _add_permissions(emulator: Parser, actions: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    """Add `deny`, `allow` and `service`."""
    deny = emulator.command(actions, "deny", "deny a permission, or show what is denied", parents=parents)
    deny.add_argument(
        "permission",
        metavar="PERMISSION",
        nargs="?",
        help="such as aiplatform.customJobs.create, or 'storage.objects.*' (default: show all)",
    )
    deny.add_argument("--resource", metavar="R", help=f"{_RESOURCE} (default: everything)")
    allow = emulator.command(actions, "allow", "grant denied permissions again", parents=parents)
    allow.add_argument(
        "permission", metavar="PERMISSION", nargs="?", help="as it was denied (default: all of them)"
    )
    allow.add_argument("--resource", metavar="R", help="only denials for this resource")
    service = emulator.command(actions, "service", "enable or disable one of Google's services")
    commands = service.add_subparsers(metavar="COMMAND", dest="service_action", required=True)
    for action in ("disable", "enable"):
        one = service.command(commands, action, f"{action} a service", parents=parents)
        one.add_argument("service", metavar="NAME", help="such as aiplatform.googleapis.com, or aiplatform")
        one.add_argument("--project", metavar="P", help="only in this project (default: in each)")
    service.command(commands, "list", "show the services that were enabled or disabled", parents=parents)


def _add_replica(replica: Parser, commands: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    kill = replica.command(commands, "kill", "kill the replica's process with SIGKILL", parents=parents)
    preempt = replica.command(
        commands,
        "preempt",
        "preempt the replica's machine as a Spot VM: SIGTERM, then SIGKILL",
        parents=parents,
    )
    forward = replica.command(
        commands,
        "forward",
        "connect a port of this machine to a port of a replica in a network of its own",
        parents=parents,
    )
    for one in (kill, preempt, forward):
        add_job(one)
        one.add_argument("replica", metavar="REPLICA", help="such as workerpool1-0")
    forward.add_argument("port", type=_port, metavar="PORT", help="port at which the replica listens")
    forward.add_argument(
        "--local-port",
        type=_local_port,
        metavar="N",
        help="port on 127.0.0.1; 0 for a free one (default: PORT)",
    )
    for one in (kill, preempt):
        one.add_argument(
            "--after",
            type=seconds,
            metavar="SECONDS",
            default=0.0,
            help="wait until the replica has run this long (default: 0)",
        )
        one.add_argument(
            "--times",
            type=_count,
            metavar="N",
            default=1,
            help="do this after each of the next N starts (default: 1)",
        )
    kill.add_argument("--out-of-memory", action="store_true", help="kill it as if it ran out of memory")


def _port(text: str) -> int:
    return whole_number(text, least=1, most=_LAST_PORT)


def _local_port(text: str) -> int:
    return whole_number(text, least=0, most=_LAST_PORT)


def _factor(text: str) -> float:
    factor = seconds(text)
    if not factor:
        raise argparse.ArgumentTypeError("0 is not allowed; use `freeze` to stop the clock")
    return factor


def _limit(text: str) -> int:
    return whole_number(text, least=0, most=_LARGEST)


def _add_fault_commands(
    emulator: Parser, actions: Subparsers, parents: list[argparse.ArgumentParser]
) -> None:
    """Add `fault` and `requests`."""
    fault = emulator.command(actions, "fault", "make calls fail, hang or lose their response")
    _add_faults(fault, fault.add_subparsers(metavar="COMMAND", dest="fault_action", required=True), parents)
    requests = emulator.command(
        actions, "requests", "show the last requests and the number of calls of each method", parents=parents
    )
    requests.add_argument(
        "--last",
        type=_count,
        metavar="N",
        default=20,
        help="number of requests to show (default: 20; 2,000 are kept)",
    )
    requests.add_argument("--forget", action="store_true", help="clear the recorded requests and the counts")


def _add_faults(fault: Parser, commands: Subparsers, parents: list[argparse.ArgumentParser]) -> None:
    add = fault.command(
        commands, "add", "set a fault: choose the calls of a method and what happens to them", parents=parents
    )
    add.add_argument(
        "method",
        metavar="METHOD",
        help="such as JobService.CreateCustomJob, ListCustomJobs, storage.objects.insert, 'storage.*' or '*'",
    )
    add.add_argument(
        "--status", type=_count, metavar="CODE", help="respond with this error status, such as 503"
    )
    add.add_argument("--message", metavar="TEXT", help="error message of the response")
    add.add_argument(
        "--drop",
        choices=("before", "after"),
        help="close the connection without a response, before or after carrying out the call",
    )
    add.add_argument(
        "--stale-seconds",
        type=seconds,
        metavar="S",
        help="ListCustomJobs only: return the list of S seconds ago",
    )
    add.add_argument(
        "--stale-changes",
        type=_count,
        metavar="K",
        help="ListCustomJobs only: return the list before the last K jobs were created or deleted",
    )
    add.add_argument("--stall", type=seconds, metavar="S", help="wait S seconds first")
    add.add_argument(
        "--delay", type=seconds, metavar="S", help="carry out the call and respond S seconds later"
    )
    add.add_argument("--nth", type=_count, metavar="N", help="start with the Nth call from now (default: 1)")
    often = add.add_mutually_exclusive_group()
    often.add_argument("--times", type=_count, metavar="N", help="number of calls (default: 1)")
    often.add_argument("--always", action="store_true", help="all calls until the fault is removed")
    fault.command(commands, "list", "show the faults and how often each one occurred", parents=parents)
    clear = fault.command(commands, "clear", "remove all faults, or one of them", parents=parents)
    clear.add_argument(
        "number", type=_count, metavar="FAULT", nargs="?", help="number of the fault (default: all)"
    )


def _count(text: str) -> int:
    return whole_number(text, least=1, most=_LARGEST)
