"""Define the arguments of the commands. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vertex_emulator.command import jobs
from vertex_training.command_line.arguments import (
    Options,
    Parser,
    json_options,
    port,
    seconds,
    whole_number,
)

_LARGEST = 1_000_000
_LAST_PORT = 65_535


SECTIONS: Mapping[str, Sequence[str]] = {
    "run it": ("start", "stop", "status", "env", "requests"),
    "its data": ("secret", "export", "import", "prune", "reset"),
    "a busy or broken cloud": (
        *("fault", "quota", "capacity", "start-delay", "replica-limit", "persistent-resource-delay"),
        *("deny", "allow", "service"),
    ),
    "time and replicas": (
        *("clock", "replica", "network", "allow-host", "contract", "stale-objects", "unknown-types"),
    ),
}
"""The commands by what people want to do, for `--help`."""


def emulator_options(
    command: Parser, *, add_job: Options = jobs.add_job, find_job: jobs.FindJob = jobs.find_job
) -> None:
    """Add the commands.

    `add_job` adds JOB, and `find_job` finds that job: the client has a rule of its own, which knows stacks.
    """
    command.package, command.sections = __package__ or "", SECTIONS
    command.group("action", json_options, data_dir_options)
    start = command.command("start", "start it, and return when it is ready", "commands:start")
    add_port(start)
    command.command("stop", "stop it; its jobs keep running", "commands:stop")
    command.command("status", "show whether it is running, and where", "commands:status")
    _add_env(command)
    reset = command.command(
        "reset",
        "end its jobs, stop it and delete all its data: jobs, logs, buckets, images",
        "commands:reset",
    )
    reset.flag("--yes", "do not ask for confirmation")
    command.command(
        "prune",
        "delete the unpacked images and installed packages that no live job uses; data stays",
        "commands:prune",
    )
    _add_requests(command)
    _add_faults(command)
    _add_clock(command)
    _add_quota(command)
    _add_capacity(command)
    _add_permissions(command)
    _add_secret(command)
    _add_settings(command)
    _add_replica(command, add_job, find_job)
    _add_snapshots(command)


def data_dir_options(command: Parser) -> None:
    """Add the option of a command that needs the emulator's data folder."""
    command.value(
        "--data-dir",
        "D",
        "data folder of the emulator (default: VERTEX_TRAINING_DATA_DIR, else in your data folder)",
        type=_folder,
    )


def add_port(command: Parser) -> None:
    """Add the port of an emulator that is started."""
    command.value("--port", "P", "port to listen on (default: the last one, else any)", type=port)


def _folder(text: str) -> Path:
    """Return the path of a folder. An empty text, as of an unset variable, is not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a folder, or leave it out")
    return Path(text)


def _add_env(emulator: Parser) -> None:
    env = emulator.command(
        "env",
        f'print shell lines that point Google\'s clients to it: eval "$({emulator.prog} env)"',
        "commands:env",
    )
    env.value("--project", "P", "project id (default: local)", default="local")
    env.value("--location", "L", "region (default: us-central1)", default="us-central1")
    env.flag("--proxy", "also lead programs that only know Google's hosts to it, through its proxy")
    env.flag(
        "--java",
        "the same as --proxy, and also for Java: sets JAVA_TOOL_OPTIONS, which every Java program reads",
    )


def _add_snapshots(emulator: Parser) -> None:
    """Add `export` and `import`."""
    export = emulator.command("export", "write a snapshot of the emulator to a file", "commands:export")
    export.value("file", "FILE", "a new file, such as state.tar", type=Path)
    importing = emulator.command("import", "fill an empty emulator with a snapshot", "commands:import_state")
    importing.value("file", "FILE", "file written by `export`", type=Path)


def _add_settings(emulator: Parser) -> None:
    """Add the commands that show or change a single setting."""

    def add(name: str, text: str, argument: str, **kwargs: Any) -> None:
        kwargs["help"] = f"{kwargs.get('help', '')} (default: show the setting)".lstrip()
        emulator.command(name, text, "settings:setting").add_argument(argument, nargs="?", **kwargs)

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
    add(
        "stale-objects",
        "let a replica see an object below /gcs that another one rewrites as it was (Linux)",
        "answer",
        choices=("on", "off"),
    )


def _add_clock(emulator: Parser) -> None:
    clock = emulator.command(
        "clock", "show its clock, freeze it, advance it or speed it up", "settings:clock"
    )
    clock.group("clock_action", run="settings:clock", required=False)
    clock.command("show", "show the time and the speed of the clock")
    clock.command("freeze", "freeze the clock")
    advance = clock.command("advance", "advance the clock")
    advance.value("seconds", "SECONDS", "", type=seconds)
    scale = clock.command("scale", "run the clock faster; a frozen clock starts again")
    scale.value("factor", "FACTOR", "seconds of the clock for each real second", type=_factor)
    clock.command("reset", "return to the time of this machine")


def _add_quota(emulator: Parser) -> None:
    quota = emulator.command("quota", "limit the accelerators that jobs can have")
    quota.group("quota_action", run="settings:quota")
    add = quota.command("set", "set the quota of an accelerator, or of vCPUs")
    add.value("metric", "METRIC", "an accelerator such as NVIDIA_L4, or nvidia_l4_gpus, cpus, n2_cpus")
    add.value("limit", "LIMIT", "number of units that jobs can use at the same time", type=_limit)
    add.value("--region", "R", "only in this region (default: in every region separately)")
    add.flag("--preemptible", "set the quota for Spot VMs and FLEX_START")
    add.choice(
        "--when-exceeded",
        ("refuse", "queue"),
        "default: refuse a job that needs more than the whole quota, queue other jobs",
    )
    quota.command("list", "show the quotas and their usage")
    clear = quota.command("clear", "remove all quotas, or some")
    clear.value("metric", "METRIC", "only quotas of this metric", nargs="?")
    clear.value("--region", "R", "only quotas of this region")


def _add_capacity(emulator: Parser) -> None:
    capacity = emulator.command("capacity", "limit the machines that jobs can find")
    capacity.group("capacity_action", run="settings:capacity")
    add = capacity.command("set", "set how many machines of a type, or accelerators, there are")
    add.value(
        "machine", "MACHINE", "a machine type such as n1-standard-8, or an accelerator such as NVIDIA_L4"
    )
    add.value("available", "COUNT", "number that jobs can have at the same time; 0 for none", type=_limit)
    add.value("--region", "R", "only in this region (default: in every region separately)")
    add.choice(
        "--strategy",
        ("STANDARD", "SPOT", "FLEX_START"),
        "only for jobs with this strategy (default: for all jobs together)",
    )
    add.value(
        "--wait",
        "SECONDS",
        "time until a job that finds none fails, except with FLEX_START (default: 10)",
        type=seconds,
    )
    capacity.command("list", "show what is set")
    clear = capacity.command("clear", "let every job find machines again, or some jobs")
    clear.value("machine", "MACHINE", "only what is set for this machine type or accelerator", nargs="?")
    clear.value("--region", "R", "only what is set for this region")


_RESOURCE = "gs://BUCKET, projects/PROJECT, a repository's name, or a service account's address"


def _add_permissions(emulator: Parser) -> None:
    """Add `deny`, `allow`, `allow-host` and `service`."""
    deny = emulator.command("deny", "deny a permission, or show what is denied", "permissions:deny")
    deny.value(
        "permission",
        "PERMISSION",
        "such as aiplatform.customJobs.create, or 'storage.objects.*' (default: show all)",
        nargs="?",
    )
    deny.value("--resource", "R", f"{_RESOURCE} (default: everything)")
    allow = emulator.command("allow", "grant denied permissions again", "permissions:allow")
    allow.value("permission", "PERMISSION", "as it was denied (default: all of them)", nargs="?")
    allow.value("--resource", "R", "only denials for this resource")
    host = emulator.command(
        "allow-host", "let programs reach a host of Google through the proxy", "permissions:allow_host"
    )
    host.value("host", "HOST", "such as pubsub.googleapis.com (default: show all)", nargs="?")
    host.flag("--none", "refuse all hosts that the emulator does not have")
    service = emulator.command("service", "enable or disable one of Google's services")
    service.group("service_action", run="permissions:service")
    for action in ("disable", "enable"):
        one = service.command(action, f"{action} a service")
        one.value("service", "NAME", "such as aiplatform.googleapis.com, or aiplatform")
        one.value("--project", "P", "only in this project (default: in each)")
    service.command("list", "show the services that were enabled or disabled")


def _add_secret(emulator: Parser) -> None:
    secret = emulator.command("secret", "set the value of a secret of Secret Manager")
    secret.group("secret_action", run="secrets:set_secret")
    add = secret.command("set", "add a version with the value in standard input; create the secret if needed")
    add.value("name", "NAME", "id of the secret, such as wandb")
    add.value("--project", "P", "project id (default: local)", default="local")


def _add_replica(emulator: Parser, add_job: Options, find_job: jobs.FindJob) -> None:
    replica = emulator.command("replica", "kill or preempt a replica of a job, or reach its ports")
    replica.group("replica_action", run="replicas:replica")
    kill = replica.command("kill", "kill the replica's process with SIGKILL")
    preempt = replica.command("preempt", "preempt the replica's machine as a Spot VM: SIGTERM, then SIGKILL")
    forward = replica.command(
        "forward",
        "connect a port of this machine to a port of a replica in a network of its own",
        "forward:forward",
    )
    for one in (kill, preempt, forward):
        add_job(one)
        one.set_defaults(find_job=find_job)
        one.value("replica", "REPLICA", "such as workerpool1-0")
    forward.value("port", "PORT", "port at which the replica listens", type=_port)
    forward.value(
        "--local-port", "N", "port on 127.0.0.1; 0 for a free one (default: PORT)", type=_local_port
    )
    for one in (kill, preempt):
        one.value(
            "--after",
            "SECONDS",
            "wait until the replica has run this long (default: 0)",
            type=seconds,
            default=0.0,
        )
        one.value(
            "--times", "N", "do this after each of the next N starts (default: 1)", type=_count, default=1
        )
    kill.flag("--out-of-memory", "kill it as if it ran out of memory")


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


def _add_requests(emulator: Parser) -> None:
    requests = emulator.command(
        "requests", "show the last requests and the number of calls of each method", "faults:requests"
    )
    requests.value(
        "--last", "N", "number of requests to show (default: 20; 2,000 are kept)", type=_count, default=20
    )
    requests.flag("--forget", "clear the recorded requests and the counts")


def _add_faults(emulator: Parser) -> None:
    fault = emulator.command("fault", "make calls fail, hang or lose their response")
    fault.group("fault_action")
    add = fault.command(
        "add", "set a fault: choose the calls of a method and what happens to them", "faults:add"
    )
    add.value(
        "method",
        "METHOD",
        "such as JobService.CreateCustomJob, ListCustomJobs, storage.objects.insert, 'storage.*' or '*'",
    )
    add.value("--status", "CODE", "respond with this error status, such as 503", type=_count)
    add.value("--message", "TEXT", "error message of the response")
    add.choice(
        "--drop",
        ("before", "after"),
        "close the connection without a response, before or after carrying out the call",
    )
    add.value("--stale-seconds", "S", "ListCustomJobs only: return the list of S seconds ago", type=seconds)
    add.value(
        "--stale-changes",
        "K",
        "ListCustomJobs only: return the list before the last K jobs were created or deleted",
        type=_count,
    )
    add.value("--stall", "S", "wait S seconds first", type=seconds)
    add.value("--delay", "S", "carry out the call and respond S seconds later", type=seconds)
    add.value("--nth", "N", "start with the Nth call from now (default: 1)", type=_count)
    often = add.add_mutually_exclusive_group()
    often.add_argument("--times", type=_count, metavar="N", help="number of calls (default: 1)")
    often.add_argument("--always", action="store_true", help="all calls until the fault is removed")
    fault.command("list", "show the faults and how often each one occurred", "faults:list_faults")
    clear = fault.command("clear", "remove all faults, or one of them", "faults:clear")
    clear.value("number", "FAULT", "number of the fault (default: all)", type=_count, nargs="?")


def _count(text: str) -> int:
    return whole_number(text, least=1, most=_LARGEST)
