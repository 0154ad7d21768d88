"""The price table: complete in form, and equal to what Google and others published."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest

from support.tables import every_row, not_empty
from vertex_training.catalog.accelerators import NUMBERS
from vertex_training.catalog.machines import BOOT_DISK_TYPES, MACHINES, TPU_FAMILIES, series
from vertex_training.catalog.regions import REGIONS
from vertex_training.cost.prices import (
    FEE,
    FEE_NOT_KNOWN,
    USES,
    Price,
    Use,
    built_in,
    published,
    table_of,
    with_fees,
)

HERE = Path(__file__).parent
PUBLISHED = list(csv.DictReader((HERE / "published_machines.csv").read_text().splitlines()))
ROUNDED = 2e-5
"""The published prices of machines have five decimals."""

TABLE = built_in()
ROWS = list(TABLE.rows.values())


def price_of(machine: str, vcpus: float, gib: float, region: str, use: Use) -> float:
    """Return the price of a machine by the table's rows, without a fee."""
    core = TABLE.price(f"{series(machine)} core", region, use)
    ram = TABLE.price(f"{series(machine)} ram", region, use)
    if core is not None and ram is not None:
        return core.usd_per_hour * vcpus + ram.usd_per_hour * gib
    whole = TABLE.price(f"{machine.rpartition('-')[0]} vcpu", region, use)
    assert whole is not None, f"no price of {machine} in {region}"
    return whole.usd_per_hour * vcpus


@every_row("row", PUBLISHED, ids=lambda row: f"{row['machine']} in {row['region']}")
def test_the_rows_give_the_published_price_of_each_machine(row: dict[str, str]) -> None:
    size = float(row["vcpus"]), float(row["gib"])
    for use in ("on_demand", "spot"):
        if (series(row["machine"]), row["region"], use) == ("n1", "asia-southeast1", "spot"):
            continue  # The price of another source counts, see `machines.PUBLISHED`.
        found = price_of(row["machine"], *size, row["region"], use)
        assert found == pytest.approx(float(row[use]), abs=ROUNDED), use


def test_the_published_prices_have_machines_that_no_row_was_derived_from() -> None:
    derived_from = {
        "n1-highcpu-16",
        "n1-highcpu-32",
        "n1-highmem-64",
        "n2-highmem-96",
        "n2-standard-128",
        "n4-highmem-80",
        "n4-standard-16",
        "e2-highmem-16",
        "e2-standard-32",
    }
    others = {row["machine"] for row in PUBLISHED} - derived_from
    assert {series(machine) for machine in others} >= {"n1", "n2", "n4", "e2", "c2", "g2", "a2", "a3"}


@every_row("row", ROWS, ids=lambda row: f"{row.sku}, {row.use} in {row.region}")
def test_each_row_is_one_price_with_its_source_and_date(row: Price) -> None:
    assert row.usd_per_hour > 0
    assert row.region in REGIONS
    assert row.use in USES
    assert row.source
    assert date(2025, 1, 1) <= date.fromisoformat(row.date) <= date(2026, 12, 31)


@every_row("row", ROWS, ids=lambda row: f"{row.sku}, {row.use} in {row.region}")
def test_each_sku_is_used_by_a_machine_an_accelerator_or_a_disk(row: Price) -> None:
    name, _, part = row.sku.partition(" ")
    if part in ("core", "ram"):
        assert any(series(machine) == name for machine in MACHINES)
    elif part == "vcpu":
        assert any(machine.rpartition("-")[0] == name for machine in MACHINES)
    elif row.sku.endswith(" chip"):
        assert row.sku.removesuffix(" chip") in TPU_FAMILIES.values()
    else:
        assert row.sku in NUMBERS or row.sku in (*BOOT_DISK_TYPES, "local-ssd")


def test_a_discounted_price_is_below_the_price_on_demand() -> None:
    for row in not_empty(each for each in ROWS if each.use in ("spot", "flex_start")):
        on_demand = TABLE.price(row.sku, row.region, "on_demand")
        assert on_demand is None or row.usd_per_hour < on_demand.usd_per_hour, row


def test_the_fee_is_15_percent_of_the_price_on_demand_where_no_source_has_it() -> None:
    for row in ROWS:
        if row.use != "on_demand":
            continue
        fee = TABLE.price(row.sku, row.region, "fee")
        if row.sku.startswith(FEE_NOT_KNOWN):
            assert fee is None, row
            continue
        assert fee is not None, row
        assert fee.usd_per_hour == pytest.approx(row.usd_per_hour * FEE, rel=1e-3)
        assert fee.derived == (published().price(row.sku, row.region, "fee") is None)


def test_a_fee_that_a_source_has_is_kept() -> None:
    row = Price(
        sku="n1 core", region="us-central1", use="fee", usd_per_hour=0.5, source="bill", date="2026-01-01"
    )
    assert (
        with_fees(table_of([*published().rows.values(), row])).price("n1 core", "us-central1", "fee") == row
    )


def test_new_rows_replace_rows_of_the_same_sku_region_and_use() -> None:
    old = TABLE.price("n1 core", "us-central1", "spot")
    assert old is not None
    new = Price(
        sku="n1 core", region="us-central1", use="spot", usd_per_hour=0.001, source="s", date="2027-01-01"
    )
    table = TABLE.with_rows([new])
    assert table.price("n1 core", "us-central1", "spot") == new
    assert table.price("n1 core", "us-east1", "spot") == TABLE.price("n1 core", "us-east1", "spot")
    assert TABLE.price("n1 core", "us-central1", "spot") == old
    assert table.date == "2027-01-01"


def test_all_regions_have_prices() -> None:
    assert set(TABLE.regions) == set(REGIONS)


def test_an_empty_table_has_no_price_and_no_date() -> None:
    empty = table_of([])
    assert empty.price("n1 core", "us-central1", "spot") is None
    assert (empty.regions, empty.date) == ((), "")
