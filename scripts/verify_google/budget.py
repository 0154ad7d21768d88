"""The highest cost of the programs of a run, as `vertex-training plan` counts it."""

from __future__ import annotations

from scripts.verify_google.stacks import Program, Side, StackError

PENNIES = 0.01
"""Dollars counted for the data of a run: a few hundred calls and kilobytes cost less than $0.005."""

PREPARATION_SECONDS = 600
"""Seconds counted for each machine besides the timeout of its job: it costs from its provisioning on."""


def cost_of(side: Side, program: Program) -> float:
    """Return the cost of a deployment until the timeouts of its jobs. Raises StackError if it is unknown."""
    started = side.cost(program)["started"]
    if started["unknown"] or started["perTimeout"] is None:
        raise StackError(
            f"{program.name}: the cost of its jobs has no known limit, so nothing is deployed. "
            "`vertex-training plan` names the machines without a price, and jobs without a timeout."
        )
    return float(started["perTimeout"] + started["hourly"] * PREPARATION_SECONDS / 3600)
