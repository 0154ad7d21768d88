"""`clock`, `quota`, `capacity` and the single settings."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vertex_emulator.command.target import control_of
from vertex_training.command_line.answer import Answer, Rows, Sentences
from vertex_training.command_line.output import Output

if TYPE_CHECKING:
    from vertex_emulator.client.control import Control

_PREFIX = "aiplatform.googleapis.com/custom_model_training_"


def clock(options: argparse.Namespace, _: Output) -> Answer:
    """Change the clock if the command says so, then show it."""
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
    return Sentences(
        shown,
        [f"Emulator time: {shown['time']} ({_pace(shown['rate'])}). Machine time: {shown['realTime']}."],
    )


def _pace(rate: float) -> str:
    if rate == 0:
        return "frozen"
    return "real speed" if rate == 1 else f"{rate:g} times real speed"


def quota(options: argparse.Namespace, _: Output) -> Answer:
    """Set a quota, list all, or remove some."""
    with control_of(options) as control:
        if options.quota_action == "set":
            found = control.set_quota(
                options.metric,
                options.limit,
                region=options.region,
                preemptible=options.preemptible,
                when_exceeded=options.when_exceeded,
            )
            where = "each region" if found["region"] == "*" else found["region"]
            said = (
                f"Quota of {_short(found)} in {where}: {found['limit']}. Above it, {_when_exceeded(found)}."
            )
            return Sentences(found, [said])
        if options.quota_action == "clear":
            removed = control.clear_quotas(metric=options.metric, region=options.region)
            return Sentences({"removed": removed}, [f"Removed quotas: {removed}."])
        quotas = control.quotas()
    return Rows(
        {"quotas": quotas},
        ("METRIC", "REGION", "LIMIT", "USED", "WHEN EXCEEDED"),
        [
            (_short(each), each["region"], str(each["limit"]), _used(each), _when_exceeded(each))
            for each in quotas
        ],
        empty="No quota is set.",
    )


def quota_text(quota: Mapping[str, Any]) -> str:
    """Return a quota in words."""
    where = "each region" if quota["region"] == "*" else quota["region"]
    return f"{_short(quota)} {quota['limit']} in {where} (used: {_used(quota)})"


def _short(quota: Mapping[str, Any]) -> str:
    return str(quota["metric"]).removeprefix(_PREFIX)


def _when_exceeded(quota: Mapping[str, Any]) -> str:
    return {
        None: "jobs larger than the quota are refused, others are queued",
        "refuse": "jobs are refused",
        "queue": "jobs are queued",
    }[quota["whenExceeded"]]


def _used(quota: Mapping[str, Any]) -> str:
    """Return the usage by region. If several projects use a region, their maximum counts."""
    used: dict[str, int] = {}
    for each in quota["usage"]:
        used[each["region"]] = max(used.get(each["region"], 0), each["used"])
    if len(used) == 1 and quota["region"] != "*":
        return str(next(iter(used.values())))
    return ", ".join(f"{count} in {region}" for region, count in used.items()) or "0"


def capacity(options: argparse.Namespace, _: Output) -> Answer:
    """Set how many machines there are, list what is set, or remove some of it."""
    with control_of(options) as control:
        if options.capacity_action == "set":
            found = control.set_capacity(
                options.machine,
                options.available,
                region=options.region,
                strategy=options.strategy,
                wait_seconds=options.wait,
            )
            said = f"Available: {capacity_text(found)}. A job that finds too few is PENDING, {_then(found)}."
            return Sentences(found, [said])
        if options.capacity_action == "clear":
            removed = control.clear_capacities(machine=options.machine, region=options.region)
            return Sentences({"removed": removed}, [f"Removed capacities: {removed}."])
        capacities = control.capacities()
    return Rows(
        {"capacities": capacities},
        ("MACHINE", "REGION", "STRATEGY", "AVAILABLE", "WAIT"),
        [
            (
                each["machine"],
                each["region"],
                each["strategy"],
                str(each["available"]),
                "max_wait_duration" if each["strategy"] == _FLEX_START else f"{each['waitSeconds']:g} s",
            )
            for each in capacities
        ],
        empty="There are machines for every job.",
    )


_FLEX_START = "FLEX_START"


def capacity_text(capacity: Mapping[str, Any]) -> str:
    """Return a capacity in words."""
    where = "each region" if capacity["region"] == "*" else capacity["region"]
    whose = "" if capacity["strategy"] == "*" else f" for {capacity['strategy']}"
    return f"{capacity['available']} {capacity['machine']}{whose} in {where}"


def _then(capacity: Mapping[str, Any]) -> str:
    flex = "fails after its max_wait_duration"
    usual = f"fails after {capacity['waitSeconds']:g} s"
    if capacity["strategy"] == _FLEX_START:
        return f"and {flex}"
    return f"and {usual}" if capacity["strategy"] != "*" else f"and {usual}; with FLEX_START it {flex}"


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """A setting of the emulator: its argument and JSON key, its accessors, and a sentence about a value."""

    argument: str
    key: str
    read: Callable[[Control], Any]
    write: Callable[[Control, Any], object]
    sentence: Callable[[Any], str]


_SETTINGS = {
    "start-delay": _Setting(
        argument="seconds",
        key="seconds",
        read=lambda control: control.start_delay(),
        write=lambda control, seconds: control.set_start_delay(seconds),
        sentence=lambda seconds: (
            f"New jobs wait {seconds:g} s before their replicas start."
            if seconds
            else "New jobs start at once."
        ),
    ),
    "persistent-resource-delay": _Setting(
        argument="seconds",
        key="seconds",
        read=lambda control: control.persistent_resource_delay(),
        write=lambda control, seconds: control.set_persistent_resource_delay(seconds),
        sentence=lambda seconds: (
            f"Each change of a persistent resource takes {seconds:g} s."
            if seconds
            else "Persistent resources change at once."
        ),
    ),
    "unknown-types": _Setting(
        argument="answer",
        key="allowed",
        read=lambda control: control.unknown_types_allowed(),
        write=lambda control, answer: control.allow_unknown_types(answer == "allow"),
        sentence=lambda allowed: f"Unknown machine types are {'allowed' if allowed else 'refused'}.",
    ),
    "contract": _Setting(
        argument="contract",
        key="contract",
        read=lambda control: control.contract(),
        write=lambda control, contract: control.set_contract(contract),
        sentence=lambda contract: (
            "New jobs get CLUSTER_SPEC as documented."
            if contract == "documented"
            else "New jobs get the same CLUSTER_SPEC as real jobs."
        ),
    ),
    "network": _Setting(
        argument="network",
        key="network",
        read=lambda control: control.network(),
        write=lambda control, network: control.set_network(network),
        sentence=lambda network: (
            "New jobs get a network of their own: each replica has its own address."
            if network == "namespace"
            else "New jobs use the network of this machine."
        ),
    ),
    "stale-objects": _Setting(
        argument="answer",
        key="stale",
        read=lambda control: control.stale_objects(),
        write=lambda control, answer: control.set_stale_objects(answer == "on"),
        sentence=lambda stale: (
            "Replicas of new jobs see an object that another replica rewrites as it was."
            if stale
            else "Replicas of new jobs see objects as they are."
        ),
    ),
    "replica-limit": _Setting(
        argument="replicas",
        key="replicas",
        read=lambda control: control.replica_limit(),
        write=lambda control, replicas: control.set_replica_limit(replicas),
        sentence=lambda replicas: f"At most {replicas} replicas run at the same time; other jobs wait.",
    ),
}


def setting(options: argparse.Namespace, _: Output) -> Answer:
    """Change a single setting if a value is given, then show it."""
    chosen = _SETTINGS[options.action]
    given = getattr(options, chosen.argument)
    with control_of(options) as control:
        if given is not None:
            chosen.write(control, given)
        value = chosen.read(control)
    return Sentences({chosen.key: value}, [chosen.sentence(value)])
