"""Prices from SKUs of the Cloud Billing catalog, in the form of its API."""

from __future__ import annotations

import math

import pytest

from support.prices.billing_catalog import COMPUTE_ENGINE, IOWA, ON, VERTEX_AI, sku
from support.tables import every_row
from vertex_training.cost.billing_skus import SOURCE, rows_of
from vertex_training.cost.cost import cost_of_pools
from vertex_training.cost.prices import Use, table_of, with_fees
from vertex_training.topology.pools import DiskSpec, MachineSpec, WorkerPoolSpec

ROWS = tuple(rows_of(VERTEX_AI, COMPUTE_ENGINE, date="2026-11-24"))
TABLE = table_of(ROWS)
CORE = "N1 Predefined Instance Core running in Iowa"


def amount(units: object) -> list[dict[str, object]]:
    rates = [{"unitPrice": {"currencyCode": "USD", "units": units}}]
    return [{"pricingExpression": {"usageUnit": "h", "tieredRates": rates}}]


@every_row(
    "name, region, use, price, derived",
    [
        ("n1 core", "asia-southeast1", "on_demand", 0.038999, False),
        ("n1 core", "asia-southeast1", "fee", 0.00584985, False),
        ("n1 ram", "asia-southeast1", "on_demand", 0.005226, False),
        ("n1 ram", "asia-southeast1", "fee", 0.0007839, False),
        ("n1 core", "asia-southeast1", "spot", 0.0066, False),
        ("n1 ram", "asia-southeast1", "spot", 0.0009, False),
        ("NVIDIA_H100_80GB", "us-central1", "on_demand", 11.2660332 - 1.4694826, False),
        ("NVIDIA_H100_80GB", "us-central1", "fee", 1.4694826, False),
        ("NVIDIA_H100_80GB", "us-central1", "flex_start", 4.200761, False),
        ("NVIDIA_H100_80GB", "us-east1", "on_demand", 9.79655057, False),
        ("a3 core", "us-central1", "on_demand", 0.02549795, False),
        ("a3 core", "us-central1", "fee", 0.0293227 - 0.02549795, True),
        ("a3 ram", "us-central1", "flex_start", 0.000952, False),
        ("NVIDIA_TESLA_A100", "us-central1", "on_demand", 2.933908, False),
        ("NVIDIA_TESLA_A100", "us-central1", "fee", 3.4 - 2.933908, True),
        ("NVIDIA_TESLA_T4", "us-west1", "spot", 0.11, False),
        ("c2 core", "us-east1", "on_demand", 0.03398, False),
        ("pd-ssd", "us-central1", "on_demand", 0.17 / 730, False),
        ("pd-ssd", "us-central1", "fee", 0.0255 / 730, True),
        ("pd-standard", "us-west1", "on_demand", 0.04 / 730, False),
        ("local-ssd", "us-central1", "flex_start", 0.08 / 730, False),
    ],
)
def test_the_prices_of_the_skus(name: str, region: str, use: Use, price: float, derived: bool) -> None:
    row = TABLE.price(name, region, use)
    assert row is not None
    assert row.usd_per_hour == pytest.approx(price, rel=1e-6)
    assert (row.derived, row.source, row.date) == (derived, SOURCE, "2026-11-24")


def test_no_other_sku_becomes_a_price() -> None:
    assert {row.region for row in ROWS} == {"asia-southeast1", "us-central1", "us-east1", "us-west1"}
    assert not [row for row in ROWS if row.sku.startswith("e2")]
    assert TABLE.price("a3 core", "us-east1", "on_demand") is not None
    assert TABLE.price("a3 core", "us-east1", "fee") is None


def test_the_price_that_vertex_ai_publishes_for_singapore() -> None:
    pool = WorkerPoolSpec(
        machine_spec=MachineSpec(machine_type="n1-standard-4"),
        replica_count=1,
        disk_spec=DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100),
    )
    found = cost_of_pools((pool,), region="asia-southeast1", table=with_fees(TABLE))
    assert found.known_hourly == pytest.approx(0.269544, abs=1e-6)
    assert [gap.what for gap in found.unknown] == ["100 GB pd-ssd"]


@every_row(
    "billed, fee, on_demand",
    [
        (1.15, 0.15, 1.0),  # the price has the fee
        (1.0, 0.15, 1.0),  # it has not
        (1.0, None, None),  # nobody can tell
        (1.0, 5.0, None),  # no fee is above the price
    ],
)
def test_a_price_of_vertex_ai_alone(billed: float, fee: float | None, on_demand: float | None) -> None:
    vertex = [sku(f"{ON} NVIDIA L4 in Iowa", billed, IOWA)]
    if fee is not None:
        vertex.append(sku("Vertex AI: Training/Pipelines management fee on NVIDIA L4 in Iowa", fee, IOWA))
    row = table_of(rows_of(vertex, (), date="2026-11-24")).price("NVIDIA_L4", "us-central1", "on_demand")
    assert (row.usd_per_hour if row else None) == (
        on_demand if on_demand is None else pytest.approx(on_demand)
    )


@every_row(
    "document",
    [
        {},
        {"description": None, "serviceRegions": None, "pricingInfo": None},
        {"description": "N1 Predefined Instance Core running in Iowa", "serviceRegions": ["us-central1"]},
        {
            "description": "N1 Predefined Instance Core running in Iowa",
            "serviceRegions": ["us-central1"],
            "pricingInfo": [{"pricingExpression": {"usageUnit": "h", "tieredRates": []}}],
        },
        sku("N1 Predefined Instance Core running in Iowa", 0.0, IOWA),
        sku("N1 Predefined Instance Core running in Iowa", 200_000.0, IOWA),
        {**sku(CORE, 1.0, IOWA), "serviceRegions": 5},
        {**sku(CORE, 1.0, IOWA), "serviceRegions": [["us-central1"], None]},
        {"description": CORE, "serviceRegions": ["us-central1"], "pricingInfo": amount(math.inf)},
        {"description": CORE, "serviceRegions": ["us-central1"], "pricingInfo": amount("9" * 400)},
    ],
)
def test_a_sku_without_a_price_is_left_out(document: dict[str, object]) -> None:
    assert list(rows_of([document], [document], date="2026-11-24")) == []
