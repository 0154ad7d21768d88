"""The price table: prices of SKUs by region and use, each with its source and date.

Google bills vCPUs, memory, accelerators and disks by SKUs, and adds a management fee for Vertex AI: 15 % of
Compute Engine's price on demand, also where the machines themselves are discounted (Spot, Flex-start). Only
that fee is added here by rule, and marked as derived. It was found for N1 and A3 machines, T4 and H100
(Vertex AI pricing page and billing reports). The page's prices of A2 machines do not follow it, and there
is no source for TPUs: their fee is not known.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

Use = Literal["on_demand", "spot", "flex_start", "fee"]
"""Purpose of a price: capacity on demand, Spot, Flex-start, or the management fee of Vertex AI."""

USES: tuple[Use, ...] = ("on_demand", "spot", "flex_start", "fee")

DEAREST = 1e5
"""Largest price in USD of an hour that is believed."""

FEE = 0.15
"""Management fee of Vertex AI, as a part of Compute Engine's price on demand."""

FEE_NOT_KNOWN = ("a2", "NVIDIA_TESLA_A100", "NVIDIA_A100_80GB", "TPU")
"""Beginnings of the SKUs to which the rule of the fee does not apply, or whose fee has no source."""

CURRENCY = "USD"


@dataclass(frozen=True, kw_only=True)
class Price:
    """The price of one unit of a SKU in a region.

    `sku` is "SERIES core" (one vCPU), "SERIES ram" (one GiB), "KIND vcpu" (one vCPU with its memory), the
    name of an accelerator (one GPU, or one core of a TPU), "TPU v6e chip", or a disk type (one GB). `date` is
    the day on which the source had the price, YYYY-MM-DD; of a source without dates, that of reading it. A
    derived price was calculated from others.
    """

    sku: str
    region: str
    use: Use
    usd_per_hour: float
    source: str
    date: str
    derived: bool = False


Key = tuple[str, str, Use]
"""SKU, region and use of a price."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PriceTable:
    """Prices by SKU, region and use. Two tables are equal only if they are the same object."""

    rows: Mapping[Key, Price]

    def price(self, sku: str, region: str, use: Use) -> Price | None:
        """Return the price, or None if the table does not have it."""
        return self.rows.get((sku, region, use))

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions that have a price, sorted."""
        return tuple(sorted({row.region for row in self.rows.values()}))

    @property
    def date(self) -> str:
        """The date of the newest row, or "" for an empty table."""
        return max((row.date for row in self.rows.values()), default="")

    def with_rows(self, rows: Iterable[Price]) -> PriceTable:
        """Return the table with more rows. They replace rows of the same SKU, region and use."""
        return table_of((*self.rows.values(), *rows))


def table_of(rows: Iterable[Price]) -> PriceTable:
    """Return the table of the rows. The last of two rows with the same SKU, region and use counts."""
    return PriceTable(rows=MappingProxyType({(row.sku, row.region, row.use): row for row in rows}))


@functools.cache
def built_in() -> PriceTable:
    """Return the table that comes with this package, with the fees."""
    return with_fees(published())


@functools.cache
def published() -> PriceTable:
    """Return the table that comes with this package, without the fees that follow by the rule."""
    return table_of(_published())


def with_fees(table: PriceTable) -> PriceTable:
    """Return the table with the fees that follow by the rule."""
    return table.with_rows(_fees(table))


def _fees(table: PriceTable) -> Iterator[Price]:
    """Yield a derived fee for each price on demand to which the rule applies and that has no fee."""
    for (sku, region, use), row in table.rows.items():
        if use != "on_demand" or sku.startswith(FEE_NOT_KNOWN) or (sku, region, "fee") in table.rows:
            continue
        yield Price(
            sku=sku,
            region=region,
            use="fee",
            usd_per_hour=row.usd_per_hour * FEE,
            source=f"{FEE:.0%} of the price on demand ({row.source})",
            date=row.date,
            derived=True,
        )


def _published() -> Iterator[Price]:
    from vertex_training.cost.rows import accelerators, disks, machines

    for rows in (*machines.TABLES, *accelerators.TABLES, *disks.TABLES):
        for sku, use, region, price in rows.entries():
            yield Price(
                sku=sku,
                region=region,
                use=cast(Use, use),
                usd_per_hour=price,
                source=rows.source,
                date=rows.date,
                derived=rows.derived,
            )
