"""Costs in words: sums, what is not known, and where the prices are from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulumi_vertex_training.costs import words
from vertex_training.cost.cost import Cost, Gap, GapCause, Item

HOUR = 3600
COST = Cost(hourly=0.5, per_timeout=5.0, timeout_seconds=10 * HOUR, most_hourly=0.5)


def gap(what: str, cause: GapCause = "price") -> Gap:
    return Gap(path="x", what=what, why="because", cause=cause)


def item(source: str, date: str = "2026-11-01") -> Item:
    return Item(path="x", what="x", hourly=0.25, sources=((source, date),), derived=False)


@pytest.mark.parametrize(
    "cost, sentence",
    [
        (COST, "$0.50 an hour, at most $5.00 until its timeout of 10 h"),
        (
            replace(COST, is_default_timeout=True),
            "$0.50 an hour, at most $5.00 until the default timeout of 10 h",
        ),
        (
            replace(COST, trials=20),
            "$0.50 an hour, at most $5.00 for 20 trials, each until its timeout of 10 h",
        ),
        (replace(COST, hourly=0.0, per_timeout=0.0), words.OF_THE_MACHINES),
        (
            Cost(hourly=1.0, per_timeout=None, most_hourly=4.0),
            "$1.00 an hour, up to $4.00 with autoscaled pools at their maximum",
        ),
        (
            Cost(
                hourly=None,
                per_timeout=None,
                items=(item("s"),),
                most_items=(item("s"), item("s")),
                unknown=(gap("a"),),
            ),
            "at least $0.25 an hour, at least $0.50 with autoscaled pools at their maximum, "
            "without a known price: a",
        ),
        (
            Cost(hourly=None, per_timeout=None, unknown=(gap("a5-mega-8g"),)),
            "an amount that is not known, without a known price: a5-mega-8g",
        ),
        (
            Cost(hourly=None, per_timeout=None, items=(item("s"),), unknown=(gap("b"), gap("a"))),
            "at least $0.25 an hour, without a known price: b and a",
        ),
        (
            replace(COST, per_timeout=None, unknown=(gap("timeout", "value"), gap("a"))),
            "$0.50 an hour, without a known price: a, depending on what a preview does not know: timeout",
        ),
    ],
)
def test_a_cost_as_a_sentence(cost: Cost, sentence: str) -> None:
    assert words.sentence(cost) == sentence


def test_parts_are_named_once_and_fees_together() -> None:
    fees = [gap("management fee for a2"), gap("3 x management fee for a2"), gap("management fee for A100")]
    assert words.gaps([*fees, gap("8 x TPU_V3"), gap("16 x TPU_V3")]) == (
        "TPU_V3 and the management fee for a2 and A100"
    )
    assert words.gaps([gap(name) for name in "abcde"]) == "a, b, c and 2 more"


def test_a_change_of_the_cost() -> None:
    assert words.change(None, COST) == "$0.50 an hour"
    assert words.change(COST, replace(COST, hourly=1.0)) == "$0.50 -> $1.00 an hour"
    assert words.change(COST, None) == "$0.50 -> nothing an hour"
    assert words.change(None, None) == "nothing"
    assert words.change(COST, replace(COST, hourly=None)) == "$0.50 an hour -> not known"


def test_the_cost_of_resized_machines() -> None:
    before = Cost(hourly=0.5, per_timeout=None)
    grown = replace(before, hourly=1.0, most_hourly=4.0)
    most = "with autoscaled pools at their maximum, also while no job runs on it"
    assert words.of_resized_machines(before, grown) == f"$0.50 -> $1.00 an hour, up to $4.00 {most}"
    assert words.of_resized_machines(grown, grown) == ""
    assert words.of_resized_machines(grown, replace(grown, most_hourly=8.0)) == (
        f"$1.00 an hour, up to $4.00 -> $8.00 {most}"
    )


def test_each_source_has_its_own_date() -> None:
    mixed = replace(item("new"), sources=(("new", "2026-11-27"), ("old", "2025-03-06")))
    assert list(words.sources(replace(COST, items=(mixed,)))) == ["new (2026-11-27)", "old (2025-03-06)"]


def test_a_date_that_a_source_names_is_not_repeated() -> None:
    cost = replace(COST, items=(item("catalog, read on 2026-11-01"), item("a bill", "2025-08-16")))
    assert list(words.sources(cost)) == ["catalog, read on 2026-11-01", "a bill (2025-08-16)"]
