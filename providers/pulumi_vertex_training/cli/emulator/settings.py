"""`emulator clock`, `quota`, `replica` and the settings, and the control connection that they use."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.views.failure import CommandError, InputError, did_you_mean
from pulumi_vertex_training.views.output import Output

if TYPE_CHECKING:
    from vertex_emulator.control import Control


@contextmanager
def control_of(options: argparse.Namespace, *, bad_input: Collection[int] = (400, 404)) -> Iterator[Control]:
    """The controls of the emulator that runs; its refusals become errors of the command.

    `bad_input`: the HTTP status of refusals for which the user's input is to blame.
    """
    from vertex_emulator.control import Control, ControlError

    emulator = target.find_emulator(options.data_dir)
    if emulator is None:
        raise target.not_running(options.data_dir)
    try:
        yield Control(url=emulator.url, token=emulator.token)
    except ControlError as error:
        raise (InputError if error.status in bad_input else CommandError)(str(error)) from error


_ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
_PREFIX = "aiplatform.googleapis.com/custom_model_training_"


def clock(options: argparse.Namespace, output: Output) -> None:
    """Show the clock, or change it and show it then."""
    action = options.clock_action or "show"
    with control_of(options) as control:
        if action == "freeze":
            shown = control.freeze_clock()
        elif action == "advance":
            shown = control.advance_clock(options.seconds)
        elif action == "scale":
            shown = control.scale_clock(options.factor)
        elif action == "reset":
            shown = control.reset_clock()
        else:
            shown = control.clock()
    if output.as_json:
        output.document(shown)
    else:
        output.line(
            f"It is {shown['time']}; {_pace(shown['rate'])} On this machine it is {shown['realTime']}."
        )


def _pace(rate: float) -> str:
    if rate == 0:
        return "the clock stands still."
    return "the clock goes as ever." if rate == 1 else f"{rate:g} s pass in one."


def quota(options: argparse.Namespace, output: Output) -> None:
    """Set a quota, list all, or remove some."""
    if options.quota_action == "set":
        _set_quota(options, output)
    elif options.quota_action == "list":
        _list_quotas(options, output)
    else:
        with control_of(options) as control:
            removed = control.clear_quotas(metric=options.metric, region=options.region)
        if output.as_json:
            output.document({"removed": removed})
        else:
            output.line(f"Quotas that were removed: {removed}.")


def _set_quota(options: argparse.Namespace, output: Output) -> None:
    with control_of(options) as control:
        found = control.set_quota(
            options.metric,
            options.limit,
            region=options.region,
            preemptible=options.preemptible,
            when_exceeded=options.when_exceeded,
        )
    if output.as_json:
        output.document(found)
        return
    where = "each region" if found["region"] == "*" else found["region"]
    output.line(f"At most {found['limit']} of {_short(found)} in {where}: {_when(found)}.")


def _list_quotas(options: argparse.Namespace, output: Output) -> None:
    with control_of(options) as control:
        quotas = control.quotas()
    if output.as_json:
        output.document({"quotas": quotas})
    elif not quotas:
        output.line("No quota is set.")
    else:
        rows = [
            (_short(each), each["region"], str(each["limit"]), _used(each), _when(each)) for each in quotas
        ]
        output.table(("METRIC", "REGION", "LIMIT", "USED", "BEYOND IT"), rows)


def _short(quota: Mapping[str, Any]) -> str:
    return str(quota["metric"]).removeprefix(_PREFIX)


def _when(quota: Mapping[str, Any]) -> str:
    return {
        None: "jobs that need more are refused, others are queued",
        "refuse": "jobs are refused",
        "queue": "jobs are queued",
    }[quota["whenExceeded"]]


def _used(quota: Mapping[str, Any]) -> str:
    """By region; of a region in which several projects use some, the most."""
    used: dict[str, int] = {}
    for each in quota["usage"]:
        used[each["region"]] = max(used.get(each["region"], 0), each["used"])
    if len(used) == 1 and quota["region"] != "*":
        return str(next(iter(used.values())))
    return ", ".join(f"{count} in {region}" for region, count in used.items()) or "0"


def start_delay(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.seconds is not None:
            control.set_start_delay(options.seconds)
        seconds = control.start_delay()
    if output.as_json:
        output.document({"seconds": seconds})
    elif seconds:
        output.line(f"New jobs wait for {seconds:g} s before their replicas start.")
    else:
        output.line("New jobs start at once.")


def persistent_resource_delay(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.seconds is not None:
            control.set_persistent_resource_delay(options.seconds)
        seconds = control.persistent_resource_delay()
    if output.as_json:
        output.document({"seconds": seconds})
    elif seconds:
        output.line(f"Each change of a persistent resource takes {seconds:g} s.")
    else:
        output.line("Persistent resources change at once.")


def unknown_types(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.answer is not None:
            control.allow_unknown_types(options.answer == "allow")
        allowed = control.unknown_types_allowed()
    if output.as_json:
        output.document({"allowed": allowed})
    else:
        done = "taken" if allowed else "refused"
        output.line(f"Machine types that the emulator does not know are {done}.")


def contract(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.contract is not None:
            control.set_contract(options.contract)
        chosen = control.contract()
    if output.as_json:
        output.document({"contract": chosen})
    elif chosen == "documented":
        output.line("New jobs get CLUSTER_SPEC as the documentation has it.")
    else:
        output.line("New jobs get CLUSTER_SPEC as real jobs do.")


def replica_limit(options: argparse.Namespace, output: Output) -> None:
    """Set it, or show it."""
    with control_of(options) as control:
        if options.replicas is not None:
            control.set_replica_limit(options.replicas)
        replicas = control.replica_limit()
    if output.as_json:
        output.document({"replicas": replicas})
    else:
        output.line(f"At most {replicas} replicas run at once; further jobs wait.")


def replica(options: argparse.Namespace, output: Output) -> None:
    """Order a replica to be killed or preempted."""
    with control_of(options) as control:
        job_id = _job_id(options.job, control.jobs())
        if options.replica_action == "preempt":
            order = control.preempt_replica(job_id, options.replica, after=options.after, times=options.times)
        else:
            order = control.kill_replica(
                job_id,
                options.replica,
                after=options.after,
                times=options.times,
                out_of_memory=options.out_of_memory,
            )
    if output.as_json:
        output.document({"job": job_id, **order})
    else:
        output.line(f"{options.replica} of job {job_id} {_fate(order)}.")


def _fate(order: Mapping[str, Any]) -> str:
    what = {
        "kill": "is killed",
        "out_of_memory": "is killed as if it had used up the memory",
        "preempt": "loses its machine",
    }[order["kind"]]
    when = f" {order['after']:g} s after it runs" if order["after"] else " as soon as it runs"
    often = "" if order["times"] == 1 else f", at {order['times']} starts"
    return f"{what}{when}{often}"


def _job_id(text: str, jobs: Sequence[Mapping[str, Any]]) -> str:
    """The id of the job that is meant. Raises InputError."""
    found = [each for each in jobs if text in (each["name"], each["id"])]
    found = found or [each for each in jobs if each["displayName"] == text]
    if len(found) > 1:
        found = [each for each in found if each["state"] not in _ENDED]
        if len(found) != 1:
            raise InputError(f"Several jobs are called {text!r}. Give the id of one.", path="JOB")
    if not found:
        known = [each["displayName"] for each in jobs] + [each["id"] for each in jobs]
        raise InputError(f"The emulator has no job {text!r}.{did_you_mean(text, known)}", path="JOB")
    return str(found[0]["id"])
