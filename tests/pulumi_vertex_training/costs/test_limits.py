"""The limits of a stack: their configuration, and every figure above them in one message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulumi_vertex_training.costs.configured_limits import CostLimits, cost_limits
from pulumi_vertex_training.costs.declared import ResourceCost
from pulumi_vertex_training.costs.limits import excesses, in_words
from vertex_training.cost.cost import Cost, Gap, Item

GAP = Gap(path="worker_pool_specs[0].machine_spec.machine_type", what="a5-mega-8g", why="no price is known")


def item(hourly: float) -> Item:
    return Item(path="x", what="x", hourly=hourly, sources=(("a test", "2026-11-01"),), derived=False)


def job(name: str, hourly: float, *, hours: int = 10, starts: bool = True) -> ResourceCost:
    cost = Cost(
        hourly=hourly,
        per_timeout=hourly * hours,
        timeout_seconds=hours * 3600,
        most_hourly=hourly,
        items=(item(hourly),),
    )
    return ResourceCost(name=name, cost=cost, starts=starts)


def unpriced(name: str, known: float, *, hours: int = 1) -> ResourceCost:
    cost = Cost(
        hourly=None,
        per_timeout=None,
        billed_hours=hours,
        timeout_seconds=hours * 3600,
        items=(item(known),),
        unknown=(GAP,),
    )
    return ResourceCost(name=name, cost=cost, starts=True)


def test_configured_amounts_are_read():
    limits, wrong = cost_limits(
        {"vertex-training:maxHourlyCost": "12.50", "vertex-training:allowUnknownPrices": "true"}.get
    )
    assert limits == CostLimits(max_hourly=12.5, allow_unknown=True)
    assert (limits.are_set, wrong) == (True, ())
    assert not cost_limits({}.get)[0].are_set


@pytest.mark.parametrize("text", ["0", "-1", "free", "1e3", "nan", "inf", "$5", "1,000", ""])
def test_a_wrong_amount_is_reported_with_a_command(text: str):
    limits, (message,) = cost_limits({"vertex-training:maxRunCost": text}.get)
    assert limits.max_run is None
    assert repr(text) in message
    assert "Run `pulumi config set vertex-training:maxRunCost 12.50`" in message


def test_all_wrong_values_are_reported():
    values = {
        "vertex-training:maxHourlyCost": "a",
        "vertex-training:maxRunCost": "b",
        "vertex-training:allowUnknownPrices": "yes",
    }
    assert len(cost_limits(values.get)[1]) == 3


def test_without_limits_nothing_is_above_them():
    assert excesses([job("train", 1e6), unpriced("new", 1.0)], CostLimits()) == ()


def test_the_hour_of_all_resources_counts_together():
    costs = [job("train", 6), job("other", 5, starts=False)]
    assert excesses(costs, CostLimits(max_hourly=11)) == ()
    (found,) = excesses(costs, CostLimits(max_hourly=10))
    assert "cost $11.00 an hour while all of them run, above vertex-training:maxHourlyCost of $10.00" in (
        found.message
    )
    assert found.figures == ("train  $6.00", "other  $5.00")
    assert "`pulumi config set vertex-training:maxHourlyCost 11.01`" in found.remedy


def test_a_run_counts_alone_and_only_if_it_starts():
    costs = [job("train", 6), job("other", 50, starts=False), job("small", 1)]
    (found,) = excesses(costs, CostLimits(max_run=50))
    assert found.resource == "train"
    assert "$6.00 an hour" in found.message
    assert "up to $60.00 until its timeout of 10 h" in found.message


def test_every_figure_is_in_one_message():
    costs = [job("train", 6), job("again", 7), unpriced("new", 1)]
    text = in_words(excesses(costs, CostLimits(max_hourly=10, max_run=50)))
    assert "$14.00 an hour" in text
    assert "train: a run costs" in text
    assert "again: a run costs" in text
    assert "new: no price is known for a5-mega-8g, so the limits cannot be checked." in text
    assert f"{GAP.path}: a5-mega-8g: no price is known" in text


def test_an_unknown_price_is_refused_unless_allowed():
    (found,) = excesses([unpriced("new", 1)], CostLimits(max_hourly=10))
    assert "vertex-training prices refresh" in found.remedy
    assert "vertex-training:allowUnknownPrices true" in found.remedy
    assert excesses([unpriced("new", 1)], CostLimits(max_hourly=10, allow_unknown=True)) == ()
    (known,) = excesses([unpriced("new", 11)], CostLimits(max_hourly=10, allow_unknown=True))
    assert "cost at least $11.00 an hour" in known.message


def test_a_machine_that_no_catalog_helps_with_has_another_remedy():
    gap = Gap(path="x", what="n9-mega-4", why="the machine type is not in the tables", cause="part")
    cost = Cost(hourly=None, per_timeout=None, unknown=(gap,))
    (found,) = excesses([ResourceCost(name="new", cost=cost)], CostLimits(max_hourly=10))
    assert found.remedy.startswith("Choose another machine, or let it through with `pulumi config set ")


def test_the_known_parts_of_a_run_count_where_unknown_prices_are_allowed():
    limits = CostLimits(max_run=50, allow_unknown=True)
    assert excesses([unpriced("new", 5, hours=10)], limits) == ()
    (found,) = excesses([unpriced("new", 6, hours=10)], limits)
    assert found.message == (
        "a run costs at least $6.00 an hour, and at least $60.00 until its timeout of 10 h, "
        "above vertex-training:maxRunCost of $50.00."
    )


def test_the_known_machines_of_an_autoscaled_resource_count_with_their_maximum():
    cost = Cost(hourly=None, per_timeout=None, items=(item(1.0),), most_items=(item(8.0),), unknown=(GAP,))
    limits = CostLimits(max_hourly=5, allow_unknown=True)
    (found,) = excesses([ResourceCost(name="cluster", cost=cost)], limits)
    assert "at least $8.00" in found.message
    assert found.figures == ("cluster  $8.00",)


def test_the_heading_says_whether_a_limit_is_exceeded_or_cannot_be_checked():
    limits = CostLimits(max_hourly=10)
    above, unknown = job("train", 11), unpriced("new", 1)
    assert in_words(excesses([above], limits)).startswith("The cost is above the limits of this stack:\n")
    assert in_words(excesses([unknown], limits)).startswith(
        "The cost cannot be compared with the limits of this stack:\n"
    )
    assert in_words(excesses([above, unknown], limits)).startswith(
        "The cost is above or cannot be compared with the limits of this stack:\n"
    )


def test_a_value_that_is_not_known_yet_is_refused_with_another_remedy():
    why = "not known before the deployment"
    gap = Gap(path="scheduling.timeout", what="timeout", why=why, cause="value")
    cost = Cost(hourly=1.0, per_timeout=None, timeout_seconds=None, items=(item(1.0),), unknown=(gap,))
    late = ResourceCost(name="late", cost=cost, starts=True)
    (found,) = excesses([late], CostLimits(max_run=10))
    assert found.message == "its cost depends on timeout, so the limits cannot be checked."
    assert "prices refresh" not in found.remedy
    assert "vertex-training:allowUnknownPrices true" in found.remedy
    assert found.figures == ("scheduling.timeout: not known before the deployment",)
    assert excesses([late], CostLimits(max_run=10, allow_unknown=True)) == ()


def test_an_autoscaled_resource_counts_with_its_maximum():
    cost = Cost(hourly=1.0, per_timeout=None, most_hourly=8.0, items=(item(1.0),))
    (found,) = excesses([ResourceCost(name="cluster", cost=cost)], CostLimits(max_hourly=5))
    assert "$8.00" in found.message


def test_the_sum_of_many_small_costs_is_not_above_itself():
    costs = [job(f"train-{number}", 0.1) for number in range(10)]
    assert excesses(costs, CostLimits(max_hourly=1.0)) == ()


def limited(name: str, max_cost: float, *, hourly: float | None = 2.0) -> ResourceCost:
    """Return a job that `max_cost` stops, at $2 an hour at most."""
    cost = Cost(
        hourly=hourly,
        per_timeout=max_cost,
        timeout_seconds=int(max_cost / 2 * 3600),
        most_hourly=hourly,
        items=(item(2.0),) if hourly else (),
        unknown=() if hourly else (GAP,),
        max_cost=max_cost,
    )
    return ResourceCost(name=name, cost=cost, starts=True)


@pytest.mark.parametrize(
    ("max_cost", "max_run", "hourly", "max_hourly", "message"),
    [
        (50, 50, 2.0, None, ""),
        (50, 100, 2.0, None, ""),
        (50, 20, 2.0, None, "up to $50.00 until the timeout by max_cost of 1 d 1 h, above"),
        (50, 50, None, None, ""),
        (50, 50, None, 10.0, "no price is known for a5-mega-8g"),
        (50, 20, None, None, "up to $50.00 until the timeout by max_cost of 1 d 1 h, above"),
    ],
)
def test_max_cost_meets_the_limits_of_the_stack(
    max_cost: float, max_run: float, hourly: float | None, max_hourly: float | None, message: str
):
    limits = CostLimits(max_run=max_run, max_hourly=max_hourly)
    found = excesses([limited("train", max_cost, hourly=hourly)], limits)
    assert message in in_words(found) if message else not found
    if "max_cost" in message:
        assert "Set a lower max_cost, make it smaller, or run" in in_words(found)


@pytest.mark.parametrize(
    ("max_run", "is_default", "repeats", "remedy"),
    [
        (50, True, False, "Set max_cost=50 or a shorter scheduling.timeout, make"),
        (2.5, True, False, "Set max_cost=2.5 or a shorter scheduling.timeout, make"),
        (50, True, True, "Set a shorter scheduling.timeout, make"),  # a schedule
        (50, False, False, "Set a shorter scheduling.timeout, make"),  # it would exclude max_cost
        (0.05, True, False, "Set a shorter scheduling.timeout, make"),  # less than a minute
    ],
)
def test_max_cost_is_a_remedy_where_it_can_stop_the_run(
    max_run: float, is_default: bool, repeats: bool, remedy: str
):
    own = job("train", 6)
    own = replace(own, repeats=repeats, cost=replace(own.cost, is_default_timeout=is_default))
    (found,) = excesses([own], CostLimits(max_run=max_run))
    assert found.remedy.startswith(remedy)
