"""`placement`: print which replica of a cluster builds and trains which part of an ensemble."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.check_switches import with_flags
from vertex_cluster import (
    Cost,
    PlacementError,
    PlacementStrategy,
    Plan,
    ReplicationStrategy,
    RoundRobinStrategy,
    plan_warnings,
    plans,
)
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.fields.schema import camel_case
from vertex_training.findings.words import counted

STRATEGIES = ("replication", "round-robin")
"""Values of --strategy."""

_WORKER = "index name build_ensemble build_subnetworks train_subnetworks trained_subnetworks"
_OPTIONS = {"workers": "--workers", "parameter_servers": "--ps"}


@dataclass(frozen=True, kw_only=True)
class Placement(Answer):
    """The plan of each iteration of an ensemble. `name` is the value of --strategy."""

    name: str
    strategy: PlacementStrategy
    iterations: tuple[Plan, ...]
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        each = [_document(self.strategy, one, self.warnings) for one in self.iterations]
        return {"strategy": self.name, **each[0], **({"iterations": each} if len(each) > 1 else {})}

    def show(self, output: Output) -> None:
        for number, one in enumerate(self.iterations, start=1):
            if number > 1:
                output.gap()
            title = f"Iteration {number}: " if len(self.iterations) > 1 else ""
            _print_plan(self.strategy, one, output, title=title)
        for warning in self.warnings:
            output.line(f"Warning: {warning}")


def placement(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `placement`.

    Options: `strategy` (one of `STRATEGIES`), `workers` (including the chief), `ps`, `subnetworks` (a number,
    or one for each iteration), `drop_remainder`, `no_dedicate`. Raises InputError for an impossible cluster.
    """
    strategy = _strategy(options)
    subnetworks = [options.subnetworks] if isinstance(options.subnetworks, int) else list(options.subnetworks)
    try:
        made = plans(strategy, options.workers, options.ps, subnetworks)
    except PlacementError as error:
        path = _OPTIONS.get(error.path, "--subnetworks")
        raise InputError(f"{path} {error.message}. {error.remedy}.", path=path) from None
    return Placement(
        name=options.strategy,
        strategy=strategy,
        iterations=tuple(made),
        warnings=tuple(_unused_options(options)),
    )


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
    costs_counted = plan.counted_costs
    return {
        **json_of(plan, "subnetworks parameter_servers parameter_server_groups dropped_subnetworks"),
        "workers": [json_of(one, _WORKER) for one in plan.workers],
        "trainersPerSubnetwork": list(plan.trainers),
        "costs": {
            camel_case(one.name): {
                **json_of(one, "figure formula meaning"),
                "counted": costs_counted[one.name],
            }
            for one in _costs(strategy, plan)
        },
        "warnings": [*map(with_flags, plan_warnings(plan)), *more_warnings],
    }


def _print_plan(strategy: PlacementStrategy, plan: Plan, output: Output, *, title: str) -> None:
    output.line(
        f"{title}{type(strategy).__name__}, {counted(len(plan.workers), 'worker')}, "
        f"{counted(plan.parameter_servers, 'parameter server')}, {counted(plan.subnetworks, 'subnetwork')}"
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
    output.table(("WORKER", "REPLICA", "ENSEMBLE", "BUILDS", "TRAINS"), workers)
    output.line()
    trainers = plan.trainers
    subnetworks = [
        (str(subnetwork), str(trainers[subnetwork]) if trainers[subnetwork] else "dropped", numbers(group))
        for subnetwork, group in enumerate(plan.parameter_server_groups)
    ]
    output.table(("SUBNETWORK", "TRAINERS", "PARAMETER SERVERS"), subnetworks)
    output.line()
    _print_costs(strategy, plan, output)
    output.line()
    dropped = plan.dropped_subnetworks
    output.line(
        f"Dropped: {len(dropped)} of {plan.subnetworks} ({numbers(dropped)})."
        if dropped
        else "Dropped: none."
    )
    for warning in plan_warnings(plan):
        output.line(f"Warning: {with_flags(warning)}")


def _print_costs(strategy: PlacementStrategy, plan: Plan, output: Output) -> None:
    counts = plan.counted_costs
    costs = [
        (one.name.replace("_", " "), f"{one.figure:g}", one.formula, str(counts[one.name]), one.meaning)
        for one in _costs(strategy, plan)
    ]
    output.table(("COST", "ORDER", "FORMULA", "COUNTED", "MEANING"), costs)
    output.line("m workers, n parameter servers, k subnetworks. ORDER leaves out constant factors.")


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
