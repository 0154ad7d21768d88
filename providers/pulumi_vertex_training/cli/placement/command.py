"""`placement`: print which replica of a cluster builds and trains which part of an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from pulumi_vertex_training.cli.check_switches import with_flags
from pulumi_vertex_training.views.failure import InputError
from pulumi_vertex_training.views.output import Output
from vertex_cluster import (
    Cost,
    PlacementError,
    PlacementStrategy,
    Plan,
    ReplicationStrategy,
    RoundRobinStrategy,
    WorkerPlan,
    plan_warnings,
    plans,
)
from vertex_training.fields.schema import camel_case

STRATEGIES = ("replication", "round-robin")
"""Values of --strategy."""

_OPTIONS = {"workers": "--workers", "parameter_servers": "--ps"}


def placement(options: argparse.Namespace, output: Output) -> int:
    """Run the command `placement`.

    Options: `strategy` (one of `STRATEGIES`), `workers` (including the chief), `ps`, `subnetworks` (a number,
    or one for each iteration), `drop_remainder`, `no_dedicate`. Raises InputError for an impossible cluster.
    """
    strategy = _strategy(options)
    subnetworks = _subnetworks(options.subnetworks)
    try:
        made = plans(strategy, options.workers, options.ps, subnetworks)
    except PlacementError as error:
        path = _OPTIONS.get(error.path, "--subnetworks")
        raise InputError(f"{path} {error.message}. {error.remedy}.", path=path) from None
    warnings = _unused_options(options)
    if output.as_json:
        first = _document(strategy, made[0], warnings)
        several = {"iterations": [_document(strategy, one, warnings) for one in made]}
        output.document({"strategy": options.strategy, **first, **(several if len(made) > 1 else {})})
        return 0
    for number, one in enumerate(made, start=1):
        if number > 1:
            output.line()
        _print_plan(strategy, one, output, title=f"Iteration {number}: " if len(made) > 1 else "")
    for warning in warnings:
        output.line(f"Warning: {warning}")
    return 0


def _strategy(options: argparse.Namespace) -> PlacementStrategy:
    if options.strategy not in STRATEGIES:
        raise InputError(
            f"--strategy is {options.strategy!r}. Use {' or '.join(STRATEGIES)}.", path="--strategy"
        )
    if options.strategy == "replication":
        return ReplicationStrategy()
    return RoundRobinStrategy(
        drop_remainder=options.drop_remainder, dedicate_parameter_servers=not options.no_dedicate
    )


def _subnetworks(value: int | Sequence[int]) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


def _unused_options(options: argparse.Namespace) -> list[str]:
    if options.strategy != "replication":
        return []
    given = {"--drop-remainder": options.drop_remainder, "--no-dedicate": options.no_dedicate}
    return [
        f"{name} has no effect: with replication, every worker trains all subnetworks on all parameter "
        "servers. Leave it out, or use --strategy round-robin."
        for name, present in given.items()
        if present
    ]


def _document(strategy: PlacementStrategy, plan: Plan, more_warnings: Sequence[str]) -> dict[str, Any]:
    counted = plan.counted_costs
    return {
        "subnetworks": plan.subnetworks,
        "parameterServers": plan.parameter_servers,
        "workers": [_worker(one) for one in plan.workers],
        "parameterServerGroups": [list(group) for group in plan.parameter_server_groups],
        "droppedSubnetworks": list(plan.dropped_subnetworks),
        "trainersPerSubnetwork": list(plan.trainers),
        "costs": {
            camel_case(one.name): {
                "figure": one.figure,
                "formula": one.formula,
                "counted": counted[one.name],
                "meaning": one.meaning,
            }
            for one in _costs(strategy, plan)
        },
        "warnings": [*map(with_flags, plan_warnings(plan)), *more_warnings],
    }


def _worker(one: WorkerPlan) -> dict[str, Any]:
    return {
        "index": one.index,
        "name": one.name,
        "buildEnsemble": one.build_ensemble,
        "buildSubnetworks": list(one.build_subnetworks),
        "trainSubnetworks": one.train_subnetworks,
        "trainedSubnetworks": list(one.trained_subnetworks),
    }


def _print_plan(strategy: PlacementStrategy, plan: Plan, output: Output, *, title: str) -> None:
    output.line(
        f"{title}{type(strategy).__name__}, {_count(len(plan.workers), 'worker')}, "
        f"{_count(plan.parameter_servers, 'parameter server')}, {_count(plan.subnetworks, 'subnetwork')}"
    )
    output.line()
    workers = [
        (
            str(one.index),
            one.name,
            "E" if one.build_ensemble else "-",
            numbers(one.build_subnetworks),
            numbers(one.trained_subnetworks),
        )
        for one in plan.workers
    ]
    output.table(("WORKER", "REPLICA", "ENSEMBLE", "BUILDS", "TRAINS"), workers, state_column=2)
    output.line()
    trainers = plan.trainers
    subnetworks = [
        (str(subnetwork), str(trainers[subnetwork]) if trainers[subnetwork] else "dropped", numbers(group))
        for subnetwork, group in enumerate(plan.parameter_server_groups)
    ]
    output.table(("SUBNETWORK", "TRAINERS", "PARAMETER SERVERS"), subnetworks, state_column=1)
    output.line()
    counted = plan.counted_costs
    costs = [
        (one.name.replace("_", " "), f"{one.figure:g}", one.formula, str(counted[one.name]), one.meaning)
        for one in _costs(strategy, plan)
    ]
    output.table(("COST", "ORDER", "FORMULA", "COUNTED", "MEANING"), costs, state_column=1)
    output.line("m workers, n parameter servers, k subnetworks. ORDER leaves out constant factors.")
    output.line()
    dropped = plan.dropped_subnetworks
    output.line(
        f"Dropped: {len(dropped)} of {plan.subnetworks} ({numbers(dropped)})."
        if dropped
        else "Dropped: none."
    )
    for warning in plan_warnings(plan):
        output.line(f"Warning: {with_flags(warning)}")


def _costs(strategy: PlacementStrategy, plan: Plan) -> tuple[Cost, ...]:
    return strategy.costs(len(plan.workers), plan.parameter_servers, plan.subnetworks)


def numbers(values: Sequence[int]) -> str:
    """Shorten ascending numbers to ranges, such as "0-2, 5"; "-" for an empty list."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1][1:] = [value]
        else:
            runs.append([value])
    return ", ".join("-".join(map(str, run)) for run in runs) or "-"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
