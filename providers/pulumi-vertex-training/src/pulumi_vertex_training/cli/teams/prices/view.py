"""The answers of `prices`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.prices.price_file import PriceFile
from pulumi_vertex_training.views.target import DEFAULT_LOCATION
from vertex_training.catalog.accelerators import NAMES as ACCELERATORS
from vertex_training.catalog.machines import MACHINES
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import Output
from vertex_training.cost.cost import FEE_FOR, NO_FEE, Cost, Gap, Item, cost_of_pools
from vertex_training.cost.prices import CURRENCY, USES, Price, PriceTable, Use, built_in
from vertex_training.cost.sku_quantities import LOCAL_SSD
from vertex_training.fields.document import json_of
from vertex_training.fields.schema import camel_case
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

_HEADINGS = {"on_demand": "ON DEMAND", "spot": "SPOT", "flex_start": "FLEX-START", "fee": "FEE"}
_STRATEGIES: tuple[tuple[Use, str], ...] = (
    ("on_demand", "STANDARD"),
    ("spot", "SPOT"),
    ("flex_start", "FLEX_START"),
)
_DERIVED = "*"
_UNITS = {
    "core": "vCPU",
    "ram": "GiB",
    "vcpu": "vCPU with its memory",
    "chip": "chip",
    "TPU_V2": "core",
    "TPU_V3": "core",
}
_Part = TypeVar("_Part", Item, Gap)
_LEGEND = f"USD an hour for one vCPU, GiB, GPU, TPU core or chip, or GB of a disk. {_DERIVED}: derived."


@dataclass(frozen=True, kw_only=True)
class OfRegion:
    """The prices of one SKU or machine in a region, with the fee where there is one; None: not known.

    `derived` has the uses whose price is derived.
    """

    region: str
    prices: dict[Use, float | None]
    date: str
    derived: frozenset[Use]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The prices of one SKU or machine by region, the cheapest first, or why no price is known."""

    name: str
    regions: tuple[OfRegion, ...]
    unknown: tuple[Gap, ...]


@dataclass(frozen=True, kw_only=True)
class Prices(Answer):
    """The prices of a region."""

    known: PriceFile
    location: str

    @property
    def rows(self) -> list[Price]:
        """The prices by SKU."""
        return sorted(
            (row for row in self.known.table.rows.values() if row.region == self.location), key=_order
        )

    def document(self) -> dict[str, Any]:
        prices = [
            {**json_of(row, "sku use source date derived"), "usdPerHour": round(row.usd_per_hour, 10)}
            for row in self.rows
        ]
        return {**_head(self.known), "location": self.location, "prices": prices}

    def show(self, output: Output) -> None:
        by_sku: dict[str, dict[Use, Price]] = {}
        for row in self.rows:
            by_sku.setdefault(row.sku, {})[row.use] = row
        output.title(f"Prices in {self.location}")
        output.paragraph(_LEGEND)
        output.gap()
        output.table(
            ("SKU", *_HEADINGS.values(), "DATE"),
            [
                (sku, *(_cell(found.get(use)) for use in USES), min(row.date for row in found.values()))
                for sku, found in by_sku.items()
            ],
        )
        output.gap()
        output.paragraph(f"Sources: {'; '.join(_sources(self.rows))}.")
        output.paragraph(_state(self.known))


@dataclass(frozen=True, kw_only=True)
class PricesOf(Answer):
    """The prices of one SKU or machine in all regions, the cheapest first, or why no price is known."""

    known: PriceFile
    found: Comparison

    def document(self) -> dict[str, Any]:
        return {
            **_head(self.known),
            "of": self.found.name,
            "unknown": [json_of(gap, "what why") for gap in self.found.unknown],
            "regions": [
                {
                    **json_of(each, "region date"),
                    **{camel_case(use): each.prices[use] for use, _ in _STRATEGIES},
                    "derived": bool(each.derived),
                }
                for each in self.found.regions
            ],
        }

    def show(self, output: Output) -> None:
        found = self.found
        if not found.regions:
            output.title(f"No price of {found.name} with the fee of Vertex AI is known")
            for gap in found.unknown:
                output.paragraph(f"{gap.what}: {gap.why}", indent=2, style="yellow")
            output.paragraph(_state(self.known))
            return
        fee = "" if found.name == LOCAL_SSD else ", with the fee of Vertex AI"
        disk = ", without a boot disk" if found.name in MACHINES else ""
        output.title(f"Price of {found.name}{fee}{disk}")
        output.paragraph(
            f"USD an hour{_unit(found.name)}, and the date of the oldest price. {_DERIVED}: derived."
        )
        output.gap()
        output.table(
            ("REGION", *(_HEADINGS[use] for use, _ in _STRATEGIES), "DATE"),
            [
                (
                    each.region,
                    *(_amount(each.prices[use], use in each.derived) for use, _ in _STRATEGIES),
                    each.date,
                )
                for each in found.regions
            ],
        )
        output.gap()
        output.paragraph(_state(self.known))


def _unit(name: str) -> str:
    """Return what a price of a SKU is for; "" for a machine."""
    if name in MACHINES:
        return ""
    return f" for one {_UNITS.get(name.rpartition(' ')[2]) or ('GPU' if name in ACCELERATORS else 'GB')}"


def comparison(table: PriceTable, name: str) -> Comparison:
    """Return the prices of a machine type or SKU in each region that has any, the cheapest first."""
    found = []
    for region in table.regions:
        one = _machine(table, name, region) if name in MACHINES else _sku(table, name, region)
        if any(price is not None for price in one.prices.values()):
            found.append(one)
    return Comparison(
        name=name, regions=tuple(sorted(found, key=_by_price)), unknown=() if found else _gaps(table, name)
    )


def _gaps(table: PriceTable, name: str) -> tuple[Gap, ...]:
    """Return why a machine type or SKU has no price; of a machine, in the default region."""
    if name in MACHINES:
        unknown = _without_disk(_cost(table, name, DEFAULT_LOCATION, "STANDARD").unknown)
        if unknown:
            return unknown
        accelerators = ", ".join(MACHINES[name].accelerators)
        return (Gap(path="", what=name, why=f"only its accelerators have a price: {accelerators}"),)
    if any(row.sku == name for row in table.rows.values()):
        return (Gap(path="", what=f"{FEE_FOR}{name}", why=NO_FEE),)
    return (Gap(path="", what=name, why="no source has a price"),)


def _by_price(one: OfRegion) -> tuple[bool, float, str]:
    price = one.prices["on_demand"]
    return price is None, price or 0.0, one.region


def _machine(table: PriceTable, name: str, region: str) -> OfRegion:
    prices: dict[Use, float | None] = {}
    dates: list[str] = []
    derived: set[Use] = set()
    for use, strategy in _STRATEGIES:
        cost = _cost(table, name, region, strategy)
        items, missing = _without_disk(cost.items), _without_disk(cost.unknown)
        prices[use] = None if missing or not items else round(sum(item.hourly for item in items), 6)
        if not missing:
            dates += [item.date for item in items]
            derived |= {use for item in items if item.derived}
    return OfRegion(region=region, prices=prices, date=min(dates, default=""), derived=frozenset(derived))


def _cost(table: PriceTable, machine_type: str, region: str, strategy: str) -> Cost:
    topology = next(iter(MACHINES[machine_type].tpu_topologies), None)  # that of one machine
    machine = MachineSpec(machine_type=machine_type, tpu_topology=topology)
    pool = WorkerPoolSpec(machine_spec=machine, replica_count=1)
    return cost_of_pools((pool,), region=region, strategy=strategy, table=table)


def _without_disk(parts: Iterable[_Part]) -> tuple[_Part, ...]:
    return tuple(part for part in parts if not part.path.endswith("disk_spec"))


def _sku(table: PriceTable, sku: str, region: str) -> OfRegion:
    fee = table.price(sku, region, "fee")
    prices: dict[Use, float | None] = {}
    rows: list[Price] = []
    derived: set[Use] = set()
    for use, _ in _STRATEGIES:
        row = table.price(sku, region, use)
        prices[use] = None
        if row is not None and (fee is not None or sku == LOCAL_SSD):
            billed = [row, fee] if fee else [row]
            prices[use] = round(sum(each.usd_per_hour for each in billed), 8)
            rows += billed
            derived |= {use for each in billed if each.derived}
    return OfRegion(
        region=region,
        prices=prices,
        date=min((row.date for row in rows), default=""),
        derived=frozenset(derived),
    )


def _head(known: PriceFile) -> dict[str, Any]:
    return {
        "currency": CURRENCY,
        "date": known.table.date,
        "refreshed": known.refreshed,
        **({"warning": known.problem} if known.problem else {}),
    }


def _order(row: Price) -> tuple[str, int]:
    return row.sku.casefold(), USES.index(row.use)


def _cell(row: Price | None) -> str:
    return "-" if row is None else _amount(row.usd_per_hour, row.derived)


def _amount(price: float | None, derived: bool) -> str:
    if price is None:
        return "-"
    digits = 6 if price >= 0.001 else 8  # a disk costs less than that
    return f"{price:.{digits}f}".rstrip("0").rstrip(".") + (_DERIVED if derived else "")


def _sources(rows: Iterable[Price]) -> list[str]:
    return sorted({row.source for row in rows if row.use != "fee" or not row.derived})


def _state(known: PriceFile) -> str:
    if known.refreshed:
        newer = f" Those are of {built_in().date}." if built_in().date > known.read_on else ""
        return (
            f"Read from Google's Cloud Billing catalog on {known.read_on} into {known.path}, over the "
            f"built-in prices.{newer} `vertex-training prices refresh` reads the current ones."
        )
    return "These are built-in prices. `vertex-training prices refresh` reads Google's current ones."
