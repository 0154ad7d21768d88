"""Costs in words, for people: on the row of a job, in a plan and in `explain`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vertex_training.cost.cost import FEE_FOR, Cost, Gap
from vertex_training.cost.runs import Spent
from vertex_training.cost.words import AT_MAXIMUM, usd
from vertex_training.findings.words import all_of, duration

OF_THE_MACHINES = "nothing of its own, as it runs on the machines of a persistent resource"
NOTHING = "nothing"
NOT_SHOWN = "a secret, which a plan does not show"
"""The reason of a gap whose value is a secret."""
_IDLE = "also while no job runs on it"
_LEAST = "at least "
_MOST_GAPS = 3


def hourly(cost: Cost | None) -> str:
    """Return the cost of an hour: "$0.62", "at least $0.44", "not known"; "nothing" for None."""
    if cost is None:
        return NOTHING
    if cost.hourly is not None:
        return amount(cost.hourly)
    return f"{_LEAST}{usd(cost.known_hourly)}" if cost.known_hourly else "not known"


def amount(dollars: float) -> str:
    """Return an amount; "nothing" for 0."""
    return usd(dollars) if dollars else NOTHING


def an_hour(text: str) -> str:
    """Return words of `hourly` as the cost of an hour: "$0.62 an hour", "nothing"."""
    return f"{text} an hour" if "$" in text else text


def per_timeout(cost: Cost) -> str:
    """Return the most that a run costs: "$104.33 until its timeout of 7 d"; "" if that is not known, or 0."""
    if not cost.per_timeout or not cost.timeout_seconds:
        return ""
    whose = "the default timeout" if cost.is_default_timeout else "its timeout"
    if cost.max_cost is not None:
        whose = "the timeout by max_cost"
    until = f"until {whose} of {duration(cost.timeout_seconds)}"
    trials = f"for {cost.trials} trials, each " if cost.trials > 1 else ""
    return f"{amount(cost.per_timeout)} {trials}{until}"


def verb(endpoint: str) -> str:
    """Return the words between a resource and its cost: nothing is billed on the emulator."""
    return "would cost on Google Cloud" if endpoint == "emulator" else "costs"


def sentence(cost: Cost) -> str:
    """Describe the cost of a run, as a part of a sentence: "$0.62 an hour, at most $104.33 until ..."."""
    if cost.hourly == 0 and cost.timeout_seconds is not None:
        return OF_THE_MACHINES
    text = hourly(cost)
    said = "an amount that is not known" if text == "not known" else an_hour(text)
    return ", ".join([said, *_more(cost)])


def _more(cost: Cost) -> Iterator[str]:
    """Yield the parts of the sentence after the cost of an hour."""
    yield from grown(None, cost)
    if most := per_timeout(cost):
        yield f"at most {most}"
    yield from missing(cost.unknown)


def grown(before: Cost | None, after: Cost) -> Iterator[str]:
    """Yield the cost of an hour with autoscaled pools at their maximum in words, if it is higher."""
    old, new = _most(before), _most(after)
    if new:
        text = f"{old} -> {new}" if old and old != new else new
        yield f"{text if text.startswith(_LEAST) else f'up to {text}'} {AT_MAXIMUM}"


def _most(cost: Cost | None) -> str:
    """Return the most that an hour costs: "$4.00", "at least $3.00"; "" if it is not above `hourly`."""
    if cost is None or cost.known_most_hourly <= cost.known_hourly:
        return ""
    least = _LEAST if cost.most_hourly is None else ""
    return f"{least}{usd(cost.known_most_hourly)}"


def of_machines(cost: Cost) -> str:
    """Describe the cost of a persistent resource, as a part of a sentence."""
    return f"{sentence(cost)}, {_IDLE}"


def of_resized_machines(before: Cost, after: Cost) -> str:
    """Describe the cost of a persistent resource before and after; "" if it costs the same."""
    if (hourly(before), _most(before)) == (hourly(after), _most(after)):
        return ""
    return ", ".join([change(before, after), *grown(before, after), *missing(after.unknown), _IDLE])


def missing(unknown: Sequence[Gap]) -> Iterator[str]:
    """Yield what is not known, as parts of a sentence: parts without a price, unknown values, secrets."""
    prices, values = parted(unknown)
    secret = [gap for gap in values if gap.why == NOT_SHOWN]
    later = [gap for gap in values if gap.why != NOT_SHOWN]
    if prices:
        yield f"without a known price: {gaps(prices)}"
    if later:
        yield f"depending on what a preview does not know: {gaps(later)}"
    if secret:
        yield f"depending on {NOT_SHOWN}: {gaps(secret)}"


def parted(unknown: Sequence[Gap]) -> tuple[list[Gap], list[Gap]]:
    """Return the parts without a price, and the values that are not known."""
    return [gap for gap in unknown if gap.is_price], [gap for gap in unknown if not gap.is_price]


def gaps(unknown: Sequence[Gap], *, most: int = _MOST_GAPS) -> str:
    """Return the parts that are not known, each once, without its number. Fees are one part."""
    names = list(dict.fromkeys(re.sub(r"^\d+ x ", "", gap.what) for gap in unknown))
    fees = [name.removeprefix(FEE_FOR) for name in names if name.startswith(FEE_FOR)]
    if fees:
        names = [name for name in names if not name.startswith(FEE_FOR)]
        names.append(f"the {FEE_FOR}{all_of(fees)}")
    more = len(names) - most
    return all_of([*names[:most], f"{more} more"] if more > 0 else names)


def change(before: Cost | None, after: Cost | None) -> str:
    """Describe the cost of an hour before and after: "$0.62 -> $1.24 an hour"."""
    old, new = hourly(before), hourly(after)
    if old == new or before is None:
        return an_hour(new)
    return f"{an_hour(old)} -> {new}" if new == "not known" else an_hour(f"{old} -> {new}")


def spent(found: Spent | None) -> str:
    """Return what a run has cost: "$1.24", "at least $0.60", "not known"; "" if it has not run."""
    if found is None:
        return ""
    if found.total is not None:
        return usd(found.total) if found.total else "$0"
    return f"{_LEAST}{usd(found.known)}" if found.known else "not known"


def sources(cost: Cost) -> Iterator[str]:
    """Yield the sources of the prices, each with its dates; without prices that were derived from another."""
    by_source: dict[str, set[str]] = {}
    for item in cost.items:
        for source, date in item.sources:
            by_source.setdefault(source, set()).add(date)
    for source, dates in by_source.items():
        if any(other != source and other in source for other in by_source):
            continue
        named = [date for date in sorted(dates) if date not in source]
        yield f"{source} ({', '.join(named)})" if named else source
