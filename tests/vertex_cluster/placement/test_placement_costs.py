"""The orders of AdaNet's documentation as figures, compared with the costs of a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_cluster import PlacementStrategy, ReplicationStrategy, RoundRobinStrategy, plan
from vertex_cluster.placement.strategies import MEANINGS

MANY = st.integers(1, 30)
STRATEGIES = {
    "replication": ReplicationStrategy(),
    "round robin": RoundRobinStrategy(),
    "not dedicated": RoundRobinStrategy(dedicate_parameter_servers=False),
}
# m = 12 workers, n = 6 parameter servers, k = 3 subnetworks.
ORDERS = [
    ("replication", "training_speedup", "m", 12),
    ("replication", "parameter_fetches", "m * n * k", 216),
    ("replication", "worker_memory", "k", 3),
    ("replication", "stale_gradients", "m", 12),
    ("round robin", "training_speedup", "m / k", 4),
    ("round robin", "parameter_fetches", "m * n / k", 24),
    ("round robin", "worker_memory", "1", 1),
    ("round robin", "stale_gradients", "m / k", 4),
    ("not dedicated", "training_speedup", "m / k", 4),
    ("not dedicated", "parameter_fetches", "m * n", 72),
    ("not dedicated", "worker_memory", "1", 1),
    ("not dedicated", "stale_gradients", "m / k", 4),
]


@pytest.mark.parametrize(("strategy", "name", "formula", "figure"), ORDERS)
def test_orders(strategy: str, name: str, formula: str, figure: float) -> None:
    (cost,) = [one for one in STRATEGIES[strategy].costs(12, 6, 3) if one.name == name]
    assert (cost.formula, cost.figure) == (formula, figure)
    assert cost.meaning == MEANINGS[name]


@given(st.sampled_from(list(STRATEGIES.values())), MANY, st.integers(0, 30), MANY)
def test_a_figure_is_its_formula(strategy: PlacementStrategy, m: int, n: int, k: int) -> None:
    costs = strategy.costs(m, n, k)
    assert [one.name for one in costs] == list(MEANINGS) == list(plan(strategy, m, n, k).counted_costs)
    for one in costs:
        assert one.figure == pytest.approx(eval(one.formula, {"m": m, "n": n, "k": k}))


@given(MANY, st.integers(0, 30), MANY)
def test_replication_costs_exactly_its_orders(m: int, n: int, k: int) -> None:
    counted = plan(ReplicationStrategy(), m, n, k).counted_costs
    assert counted == {one.name: one.figure for one in ReplicationStrategy().costs(m, n, k)}


@given(st.integers(1, 5), st.integers(2, 8), st.integers(1, 4))
def test_in_complete_groups_each_subnetwork_has_a_trainer_in_each(groups: int, k: int, share: int) -> None:
    """Test with share * k parameter servers.

    Ensemble workers fetch from all of them, other workers from the share of their subnetwork.
    """
    counted = plan(RoundRobinStrategy(), groups * (k + 1), share * k, k).counted_costs
    assert counted == {
        "training_speedup": groups,
        "parameter_fetches": 2 * groups * share * k,
        "worker_memory": k,
        "stale_gradients": groups,
    }


def test_a_dropped_subnetwork_has_no_speedup() -> None:
    assert plan(RoundRobinStrategy(drop_remainder=True), 3, 2, 3).counted_costs == {
        "training_speedup": 0,
        "parameter_fetches": 5,
        "worker_memory": 3,
        "stale_gradients": 1,
    }
