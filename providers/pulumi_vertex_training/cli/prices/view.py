"""How prices look: as tables for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.prices.price_file import PriceFile
from pulumi_vertex_training.views.output import Output
from vertex_training.catalog.machines import MACHINES
from vertex_training.cost.cost import cost_of_pools
from vertex_training.cost.prices import CURRENCY, USES, Price, PriceTable, Use
from vertex_training.cost.resources import LOCAL_SSD
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

_HEADINGS = {"on_demand": "ON DEMAND", "spot": "SPOT", "flex_start": "FLEX-START", "fee": "FEE"}
_STRATEGIES: tuple[tuple[Use, str], ...] = (
    ("on_demand", "STANDARD"),
    ("spot", "SPOT"),
    ("flex_start", "FLEX_START"),
)
_DERIVED = "*"
_LEGEND = f"USD an hour for one vCPU, GiB, GPU, TPU core or chip, or GB of a disk. {_DERIVED}: derived."


@dataclass(frozen=True, kw_only=True)
class OfRegion:
    """The prices of one SKU or machine in a region, with the fee where there is one; None: not known."""

    region: str
    prices: dict[Use, float | None]
    date: str
    derived: bool


def document(known: PriceFile, location: str) -> dict[str, Any]:
    """Return the prices of a region for --json."""
    rows = [row for row in known.table.rows.values() if row.region == location]
    return {**_head(known), "location": location, "prices": [_row(row) for row in sorted(rows, key=_order)]}


def refreshed_document(rows: Sequence[Price], path: Path) -> dict[str, Any]:
    """Return the result of `prices refresh` for --json."""
    return {
        "currency": CURRENCY,
        "file": str(path),
        "prices": len(rows),
        "regions": sorted({row.region for row in rows}),
    }


def comparison_document(known: PriceFile, name: str, regions: Sequence[OfRegion]) -> dict[str, Any]:
    """Return the prices of one SKU or machine in all regions for --json."""
    return {
        **_head(known),
        "of": name,
        "regions": [
            {
                "region": each.region,
                "onDemand": each.prices["on_demand"],
                "spot": each.prices["spot"],
                "flexStart": each.prices["flex_start"],
                "date": each.date,
                "derived": each.derived,
            }
            for each in regions
        ],
    }


def show(known: PriceFile, location: str, output: Output) -> None:
    """Print the prices of a region."""
    rows = [row for row in known.table.rows.values() if row.region == location]
    by_sku: dict[str, dict[Use, Price]] = {}
    for row in sorted(rows, key=_order):
        by_sku.setdefault(row.sku, {})[row.use] = row
    output.line((f"Prices in {location}", "bold"))
    output.paragraph(_LEGEND)
    output.line("")
    output.table(
        ("SKU", *_HEADINGS.values(), "DATE"),
        [
            (sku, *(_cell(found.get(use)) for use in USES), min(row.date for row in found.values()))
            for sku, found in by_sku.items()
        ],
    )
    output.line("")
    output.paragraph(f"Sources: {'; '.join(_sources(rows))}.")
    output.paragraph(_state(known))


def show_comparison(known: PriceFile, name: str, regions: Sequence[OfRegion], output: Output) -> None:
    """Print the prices of one SKU or machine in all regions, the cheapest first."""
    output.line((f"Price of {name}, with the fee of Vertex AI, without a boot disk", "bold"))
    output.paragraph(f"USD an hour. {_DERIVED}: derived.")
    output.line("")
    output.table(
        ("REGION", *(_HEADINGS[use] for use, _ in _STRATEGIES), "DATE"),
        [
            (each.region, *(_amount(each.prices[use], each.derived) for use, _ in _STRATEGIES), each.date)
            for each in regions
        ],
    )
    output.line("")
    output.paragraph(_state(known))


def by_region(table: PriceTable, name: str) -> list[OfRegion]:
    """Return the prices of a machine type or SKU in each region that has any, the cheapest first."""
    found = []
    for region in table.regions:
        one = _machine(table, name, region) if name in MACHINES else _sku(table, name, region)
        if any(price is not None for price in one.prices.values()):
            found.append(one)
    return sorted(found, key=_by_price)


def _by_price(one: OfRegion) -> tuple[bool, float, str]:
    price = one.prices["on_demand"]
    return price is None, price or 0.0, one.region


def _machine(table: PriceTable, name: str, region: str) -> OfRegion:
    prices: dict[Use, float | None] = {}
    dates: list[str] = []
    derived = False
    pool = WorkerPoolSpec(machine_spec=MachineSpec(machine_type=name), replica_count=1)
    for use, strategy in _STRATEGIES:
        cost = cost_of_pools((pool,), region=region, strategy=strategy, table=table)
        items = [item for item in cost.items if not item.path.endswith("disk_spec")]
        missing = [gap for gap in cost.unknown if not gap.path.endswith("disk_spec")]
        prices[use] = None if missing else round(sum(item.hourly for item in items), 6)
        if not missing:
            dates += [item.date for item in items]
            derived = derived or any(item.derived for item in items)
    return OfRegion(region=region, prices=prices, date=min(dates, default=""), derived=derived)


def _sku(table: PriceTable, sku: str, region: str) -> OfRegion:
    fee = table.price(sku, region, "fee")
    prices: dict[Use, float | None] = {}
    rows: list[Price] = []
    for use, _ in _STRATEGIES:
        row = table.price(sku, region, use)
        prices[use] = None
        if row is not None and (fee is not None or sku == LOCAL_SSD):
            billed = [row, fee] if fee else [row]
            prices[use] = round(sum(each.usd_per_hour for each in billed), 8)
            rows += billed
    return OfRegion(
        region=region,
        prices=prices,
        date=min((row.date for row in rows), default=""),
        derived=any(row.derived for row in rows),
    )


def _head(known: PriceFile) -> dict[str, Any]:
    return {
        "currency": CURRENCY,
        "date": known.table.date,
        "refreshed": known.refreshed,
        **({"warning": known.problem} if known.problem else {}),
    }


def _row(row: Price) -> dict[str, Any]:
    return {
        "sku": row.sku,
        "use": row.use,
        "usdPerHour": round(row.usd_per_hour, 10),
        "source": row.source,
        "date": row.date,
        "derived": row.derived,
    }


def _order(row: Price) -> tuple[str, int]:
    return row.sku.casefold(), USES.index(row.use)


def _cell(row: Price | None) -> str:
    return "-" if row is None else _amount(row.usd_per_hour, row.derived)


def _amount(price: float | None, derived: bool) -> str:
    if price is None:
        return "-"
    return f"{price:.6f}".rstrip("0").rstrip(".") + (_DERIVED if derived else "")


def _sources(rows: Iterable[Price]) -> list[str]:
    return sorted({row.source for row in rows if row.use != "fee" or not row.derived})


def _state(known: PriceFile) -> str:
    if known.refreshed:
        return f"Read from Google's Cloud Billing catalog into {known.path}, over the built-in prices."
    return "These are built-in prices. `vertex-training prices refresh` reads Google's current ones."
