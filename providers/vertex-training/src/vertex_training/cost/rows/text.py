"""The text form of rows: a SKU and a use, then its price in each region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Prices of one source and date. `text` has entries of the form `SKU, USE: REGION PRICE, REGION PRICE`.

    An entry continues on lines that begin with a space. A price is for `hours` hours.
    """

    source: str
    date: str
    text: str
    derived: bool = False
    hours: int = 1

    def entries(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield SKU, use, region and the price in USD of an hour."""
        for line in self.text.strip().replace("\n  ", " ").split("\n"):
            head, _, prices = line.partition(": ")
            sku, _, use = head.partition(", ")
            for pair in prices.split(", "):
                region, _, price = pair.partition(" ")
                yield sku, use, region, float(price) / self.hours
