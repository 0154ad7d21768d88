"""Costs in words, for people: on the row of a job, in a plan and in `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vertex_training.cost.cost import Cost, Gap
from vertex_training.cost.runs import Spent
from vertex_training.cost.words import usd
from vertex_training.findings.words import all_of, duration

_MOST_GAPS = 3


def hourly(cost: Cost | None) -> str:
    """Return the cost of an hour: "$0.62", "at least $0.44", "not known"; "nothing" for None."""
    if cost is None:
        return "nothing"
    if cost.hourly is not None:
        return amount(cost.hourly)
    return f"at least {usd(cost.known_hourly)}" if cost.known_hourly else "not known"


def amount(dollars: float) -> str:
    """Return an amount; "nothing" for 0."""
    return usd(dollars) if dollars else "nothing"


def per_timeout(cost: Cost) -> str:
    """Return the most that a run costs: "$104.33 until its timeout of 7 d"; "" if that is not known."""
    if cost.per_timeout is None or not cost.timeout_seconds:
        return ""
    return f"{amount(cost.per_timeout)} until its timeout of {duration(cost.timeout_seconds)}"


def sentence(cost: Cost) -> str:
    """Describe the cost of a run, as a part of a sentence: "$0.62 an hour, at most $104.33 until ..."."""
    if cost.hourly == 0 and cost.timeout_seconds is not None:
        return "nothing of its own, as it runs on the machines of a persistent resource"
    parts = [f"{hourly(cost)} an hour" if cost.hourly is not None or cost.known_hourly else ""]
    if cost.most_hourly is not None and cost.hourly is not None and cost.most_hourly > cost.hourly:
        parts.append(f"up to {amount(cost.most_hourly)} when it has grown")
    if most := per_timeout(cost):
        parts.append(f"at most {most}")
    if cost.unknown:
        parts.append(f"without a known price: {gaps(cost.unknown)}")
    return ", ".join(part for part in parts if part)


def gaps(unknown: Sequence[Gap], *, most: int = _MOST_GAPS) -> str:
    """Return the parts without a price, each once."""
    names = list(dict.fromkeys(gap.what for gap in unknown))
    more = len(names) - most
    return all_of([*names[:most], f"{more} more"] if more > 0 else names)


def change(before: Cost | None, after: Cost | None) -> str:
    """Describe the cost of an hour before and after: "$0.62 -> $1.24 an hour"."""
    old, new = hourly(before), hourly(after)
    return f"{new} an hour" if old == new or before is None else f"{old} -> {new} an hour"


def spent(found: Spent | None) -> str:
    """Return what a run has cost: "$1.24", "at least $0.60", "not known"; "" if it has not run."""
    if found is None:
        return ""
    if found.total is not None:
        return usd(found.total) if found.total else "$0"
    return f"at least {usd(found.known)}" if found.known else "not known"


def sources(cost: Cost) -> Iterator[str]:
    """Yield the sources of the prices, each with its dates; without prices that were derived from another."""
    by_source: dict[str, set[str]] = {}
    for item in cost.items:
        for source in item.source.split("; "):
            by_source.setdefault(source, set()).add(item.date)
    for source, dates in by_source.items():
        if not any(other != source and other in source for other in by_source):
            yield f"{source} ({', '.join(sorted(dates))})"
