"""What a placement costs, in the orders that AdaNet gives for its strategies, as figures.

Source: the docstrings of ReplicationStrategy and RoundRobinStrategy in adanet.distributed.placement. An order
says how a cost grows and leaves out constant factors: compare figures of one strategy for two clusters, and
see `Plan.counted_costs` for what one plan really has.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cost", "replication_costs", "round_robin_costs"]

MEANINGS = {
    "training_speedup": "workers that train each subnetwork",
    "parameter_fetches": "fetches from parameter servers in one step of all workers",
    "worker_memory": "subnetworks on one worker",
    "stale_gradients": "gradients of one subnetwork computed at the same time",
}
"""What is counted, by the name of the cost, for m workers, n parameter servers and k subnetworks."""


@dataclass(frozen=True)
class Cost:
    """One cost of a strategy."""

    name: str
    """One of `MEANINGS`."""

    figure: float
    formula: str
    """The order with m workers, n parameter servers and k subnetworks, such as ``m * n / k``."""

    @property
    def meaning(self) -> str:
        return MEANINGS[self.name]


def replication_costs(m: int, n: int, k: int) -> tuple[Cost, ...]:
    """The orders of a graph that every worker holds whole."""
    return (
        Cost("training_speedup", float(m), "m"),
        Cost("parameter_fetches", float(m * n * k), "m * n * k"),
        Cost("worker_memory", float(k), "k"),
        Cost("stale_gradients", float(m), "m"),
    )


def round_robin_costs(m: int, n: int, k: int, *, dedicated: bool) -> tuple[Cost, ...]:
    """The orders of subnetworks that are dealt out to workers.

    AdaNet gives ``m * n / k`` for the fetches: a worker asks the n / k servers of its subnetwork. Without
    dedicated servers it asks all n of them; that order is ours.
    """
    fetches = (
        Cost("parameter_fetches", m * n / k, "m * n / k")
        if dedicated
        else Cost("parameter_fetches", float(m * n), "m * n")
    )
    return (
        Cost("training_speedup", m / k, "m / k"),
        fetches,
        Cost("worker_memory", 1.0, "1"),
        Cost("stale_gradients", m / k, "m / k"),
    )
