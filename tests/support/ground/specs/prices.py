"""A price table of round figures: an n1-standard-4 costs 1 dollar an hour, a pd-ssd of 100 GB 10 cents."""

from __future__ import annotations

from vertex_training.cost.prices import Price, PriceTable, Use, table_of

REGION = "us-central1"


def row(sku: str, dollars: float, use: Use = "on_demand", *, derived: bool = False) -> Price:
    """Return a price in `REGION`."""
    return Price(
        sku=sku,
        region=REGION,
        use=use,
        usd_per_hour=dollars,
        source="a test",
        date="2026-11-01",
        derived=derived,
    )


def table() -> PriceTable:
    """Return prices of N1 machines, T4 and pd-ssd: 4 cores at 0.1, 15 GiB at 0.04, no fee."""
    return table_of(
        [
            *(row("n1 core", dollars, use) for use, dollars in (("on_demand", 0.1), ("spot", 0.05))),
            *(row("n1 ram", dollars, use) for use, dollars in (("on_demand", 0.04), ("spot", 0.02))),
            *(row(sku, 0.0, "fee") for sku in ("n1 core", "n1 ram", "pd-ssd", "NVIDIA_TESLA_T4")),
            row("NVIDIA_TESLA_T4", 0.5),
            row("NVIDIA_TESLA_T4", 0.25, "spot"),
            row("pd-ssd", 0.001),
        ]
    )
