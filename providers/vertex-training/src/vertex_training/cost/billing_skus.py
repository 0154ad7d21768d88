"""Prices from the SKUs of Google's Cloud Billing catalog (REST v1, `services.skus.list`).

Vertex AI (service C7E2-9256-1C43) has SKUs "Vertex AI: Training/Pipelines on ..." and "... management fee on
...", Compute Engine (6F81-5844-456A) those of machines on demand, Spot and Flex-start ("DWS Defined
Duration"). What a job on demand costs is billed by Vertex AI's SKU, some of which have the fee in their price
("on NVIDIA H100 80GB in Iowa"), some not ("on N1 Predefined Instance Core running in Singapore"): a price
equal to Compute Engine's has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from vertex_training.catalog.regions import REGIONS
from vertex_training.cost.prices import DEAREST, FEE, Price, Use

VERTEX_AI = "C7E2-9256-1C43"
COMPUTE_ENGINE = "6F81-5844-456A"

SOURCE = "Google's Cloud Billing catalog"

_HOURS_OF_UNIT: Mapping[str, int] = MappingProxyType(
    {"h": 1, "GiBy.h": 1, "GBy.h": 1, "GiBy.mo": 730, "GBy.mo": 730}
)
_SAME = 0.01
"""Difference, as a part, up to which Vertex AI's price equals Compute Engine's, without a fee."""

_OF_VERTEX = re.compile(
    r"Vertex AI: Training/Pipelines (?P<fee>management fee )?on (?P<what>.+?)(?: running)?(?: in .+)?",
    re.IGNORECASE,
)
_SPOT = "Spot Preemptible"
_FLEX = "DWS Defined Duration"
_OF_COMPUTE: tuple[tuple[re.Pattern[str], Use], ...] = (
    (re.compile(rf"{_SPOT} (?P<what>.+) running in .+", re.IGNORECASE), "spot"),
    (re.compile(rf"(?P<what>.+) attached to {_SPOT} VMs(?: running)? in .+", re.IGNORECASE), "spot"),
    (re.compile(rf"{_FLEX} (?P<what>.+) running in .+", re.IGNORECASE), "flex_start"),
    (re.compile(rf"(?P<what>.+) attached to {_FLEX} VMs running in .+", re.IGNORECASE), "flex_start"),
    (
        re.compile(r"(?P<what>.+ PD Capacity|Hyperdisk Balanced Capacity)(?: in .+)?", re.IGNORECASE),
        "on_demand",
    ),
    (re.compile(r"(?P<what>.+) running in .+", re.IGNORECASE), "on_demand"),
)
_PART = re.compile(
    r"(?P<series>[A-Z][0-9]+[A-Z]?|Compute optimized|Memory-optimized)"
    r"(?: Predefined)?(?: Instance)? (?P<part>Core|RAM)",
    re.IGNORECASE,
)
_SERIES: Mapping[str, str] = MappingProxyType({"compute optimized": "c2", "memory-optimized": "m1"})
_OTHERS: Mapping[str, str] = MappingProxyType(
    {
        "tesla p4": "NVIDIA_TESLA_P4",
        "tesla p100": "NVIDIA_TESLA_P100",
        "tesla t4": "NVIDIA_TESLA_T4",
        "tesla v100": "NVIDIA_TESLA_V100",
        "tesla a100": "NVIDIA_TESLA_A100",
        "tesla a100 80gb": "NVIDIA_A100_80GB",
        "a100 80gb": "NVIDIA_A100_80GB",
        "l4": "NVIDIA_L4",
        "h100 80gb": "NVIDIA_H100_80GB",
        "h100 80gb mega": "NVIDIA_H100_MEGA_80GB",
        "h100 80gb plus": "NVIDIA_H100_MEGA_80GB",
        "h200 141gb": "NVIDIA_H200_141GB",
        "b200": "NVIDIA_B200",
        "gb200": "NVIDIA_GB200",
        "rtx pro 6000": "NVIDIA_RTX_PRO_6000",
        "ssd backed pd capacity": "pd-ssd",
        "storage pd capacity": "pd-standard",
        "hyperdisk balanced capacity": "hyperdisk-balanced",
        "ssd backed local storage": "local-ssd",
    }
)
"""Accelerators and disks as descriptions name them, in lower case and without "nvidia" and "gpu"."""

_Prices = dict[tuple[str, str], float]
"""Prices by SKU of the table and region."""


def rows_of(
    vertex: Iterable[Mapping[str, Any]], compute: Iterable[Mapping[str, Any]], *, date: str
) -> Iterator[Price]:
    """Yield the prices in the SKUs of Vertex AI and of Compute Engine, in USD and for the known regions."""
    billed: _Prices = {}
    fees: _Prices = {}
    of_use: dict[Use, _Prices] = {"on_demand": {}, "spot": {}, "flex_start": {}}
    for document in vertex:
        match = _OF_VERTEX.fullmatch(str(document.get("description", "")))
        if match and (sku := _sku_of(match["what"])):
            _add(fees if match["fee"] else billed, sku, document)
    for document in compute:
        priced = _compute_sku(str(document.get("description", "")))
        if priced is not None:
            _add(of_use[priced[1]], priced[0], document)
    plain = of_use.pop("on_demand")
    for sku, region in sorted({*plain, *billed}):
        key = (sku, region)
        on_demand, fee, derived = _split(plain.get(key), billed.get(key), fees.get(key))
        if on_demand is not None:
            yield _row(key, "on_demand", on_demand, date)
        if fee is not None:
            yield _row(key, "fee", fee, date, derived=derived)
    for use, prices in of_use.items():
        for key in sorted(prices):
            yield _row(key, use, prices[key], date)


def _row(key: tuple[str, str], use: Use, price: float, date: str, *, derived: bool = False) -> Price:
    return Price(
        sku=key[0], region=key[1], use=use, usd_per_hour=price, source=SOURCE, date=date, derived=derived
    )


def _split(
    plain: float | None, billed: float | None, fee: float | None
) -> tuple[float | None, float | None, bool]:
    """Return the price without the fee, the fee, and whether the fee is derived.

    `plain` is Compute Engine's price, `billed` Vertex AI's, with or without the fee. A fee that is not
    below `billed` is ignored.
    """
    if billed is not None and fee is not None and fee >= billed:
        fee = None
    if billed is None:
        return plain, fee, False
    if plain is not None:
        if abs(billed - plain) <= _SAME * plain:
            return billed, fee, False
        if fee is not None:
            return billed - fee, fee, False
        return (plain, billed - plain, True) if billed > plain else (None, None, False)
    if fee is None:
        return None, None, False
    # Both ratios follow from the rule of the fee; the nearer one shows whether the price has it.
    includes = abs(billed / fee - (1 + FEE) / FEE) < abs(billed / fee - 1 / FEE) if fee else False
    return (billed - fee if includes else billed), fee, False


def _compute_sku(description: str) -> tuple[str, Use] | None:
    for pattern, use in _OF_COMPUTE:
        match = pattern.fullmatch(description)
        if match:
            sku = _sku_of(match["what"])
            return (sku, use) if sku else None
    return None


def _sku_of(what: str) -> str | None:
    """Return the table's name of what a description names, or None for anything else."""
    part = _PART.fullmatch(what)
    if part:
        series = part["series"].lower()
        return f"{_SERIES.get(series, series)} {part['part'].lower()}"
    return _OTHERS.get(what.lower().removeprefix("nvidia ").removesuffix(" gpu"))


def _add(prices: _Prices, sku: str, document: Mapping[str, Any]) -> None:
    price = _price(document)
    if price is None:
        return
    regions = document.get("serviceRegions")
    for region in regions if isinstance(regions, list) else ():
        if isinstance(region, str) and region in REGIONS:
            prices[sku, region] = price


def _price(document: Mapping[str, Any]) -> float | None:
    """Return the price in USD of an hour, or None for another unit or currency, or for a price of 0.

    Some disks have a first tier that is free; a later one counts.
    """
    try:
        expression = document["pricingInfo"][-1]["pricingExpression"]
        hours = _HOURS_OF_UNIT.get(expression["usageUnit"])
        money = expression["tieredRates"][-1]["unitPrice"]
        amount = int(money.get("units") or 0) + int(money.get("nanos") or 0) / 1e9
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    if hours is None or not 0 < amount <= DEAREST or cast(str, money.get("currencyCode", "USD")) != "USD":
        return None
    return amount / hours
