"""The file of prices: its text, its place, and its rows over the built-in ones."""

from __future__ import annotations

import pytest

from vertex_training.cost.price_file import path_of, rows_of, table_with, text_of
from vertex_training.cost.prices import FEE, Price, Use, built_in

ON_DEMAND = Price(
    sku="n1 core", region="us-central1", use="on_demand", usd_per_hour=7, source="test", date="2026-11-24"
)


def test_the_rows_of_a_text_are_those_that_it_was_made_of() -> None:
    rows = tuple(built_in().rows.values())
    assert rows_of(text_of(rows)) == rows


def test_rows_replace_built_in_ones_and_the_fee_follows() -> None:
    def price(use: Use, region: str = "us-central1") -> float:
        found = table.price("n1 core", region, use)
        assert found is not None
        return found.usd_per_hour

    table = built_in()
    before = price("spot"), price("on_demand", "us-east1")
    table = table_with([ON_DEMAND])
    assert (price("on_demand"), price("fee")) == (7, pytest.approx(7 * FEE))
    assert (price("spot"), price("on_demand", "us-east1")) == before


@pytest.mark.parametrize(
    ("caches", "path"),
    [
        ("/caches", "/caches/vertex-training/prices.json"),
        ("not/absolute", "/home/me/.cache/vertex-training/prices.json"),
        ("", "/home/me/.cache/vertex-training/prices.json"),
    ],
)
def test_the_file_is_in_the_folder_of_caches(caches: str, path: str) -> None:
    assert path_of({"XDG_CACHE_HOME": caches}, lambda: "/home/me") == path


def test_an_absolute_folder_of_caches_needs_no_home() -> None:
    def no_home() -> str:
        raise RuntimeError

    assert path_of({"XDG_CACHE_HOME": "/caches"}, no_home).startswith("/caches/")
    with pytest.raises(RuntimeError):
        path_of({}, no_home)
