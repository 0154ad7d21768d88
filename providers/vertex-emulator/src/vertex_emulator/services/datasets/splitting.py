"""The split of a dataset: the set of each row or item.

Sizes are exact: each set gets its share by the largest remainder. Where the service splits at random, the
emulator uses a fixed order, so that the same data is always split the same way.

Sources: the comments of the API's messages FractionSplit, FilterSplit, PredefinedSplit, TimestampSplit and
StratifiedSplit; Vertex AI documentation, "Data splits for tabular data".
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from vertex_emulator.server.rpc import filters
from vertex_training.replica_environment.pipeline_data import SETS

DEFAULT = (Fraction(8, 10), Fraction(1, 10), Fraction(1, 10))
_TOP_CATEGORIES = 500
_FEW_ROWS = 3
_WORDS = {
    "training": 0,
    "train": 0,
    "validation": 1,
    "validate": 1,
    "test": 2,
}
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?[Zz]")

Shares: TypeAlias = "tuple[Fraction, Fraction, Fraction]"
Assignment: TypeAlias = "list[int | None]"
"""For each row the index of its set in `SETS`, or None for a row in no set."""


@dataclass(frozen=True, kw_only=True)
class ByFraction:
    """A random split."""

    shares: Shares


@dataclass(frozen=True, kw_only=True)
class ByFilter:
    """A split by the labels of items. The first filter that an item matches decides."""

    training: str
    validation: str
    test: str


@dataclass(frozen=True, kw_only=True)
class ByColumn:
    """A split by a column that names the set."""

    key: str


@dataclass(frozen=True, kw_only=True)
class ByTime:
    """A split by a column of times: the earliest rows are for training, the latest for testing."""

    key: str
    shares: Shares


@dataclass(frozen=True, kw_only=True)
class ByCategory:
    """A random split within each value of a column."""

    key: str
    shares: Shares


Split: TypeAlias = "ByFraction | ByFilter | ByColumn | ByTime | ByCategory"


def shares(training: float, validation: float, test: float) -> Shares:
    """Return the exact shares of the three sets. Raises ValueError for invalid fractions.

    Without any fractions, the shares are 80, 10 and 10 %. A remainder is divided among the sets without a
    fraction in the same proportion, or else added to the training set ("as decided by Vertex AI").
    """
    given = tuple(Fraction(str(each)) for each in (training, validation, test))
    if any(not 0 <= each <= 1 for each in given):
        raise ValueError("each fraction must be between 0 and 1")
    left = 1 - sum(given)
    if left < 0:
        raise ValueError(f"the sum of the fractions is {float(sum(given)):g}, more than 1")
    open_sets = [index for index, each in enumerate(given) if not each] or [0]
    weight = sum(DEFAULT[index] for index in open_sets)
    first, second, third = (
        each + (left * DEFAULT[index] / weight if index in open_sets else 0)
        for index, each in enumerate(given)
    )
    return first, second, third


def counts(total: int, parts: Shares) -> tuple[int, int, int]:
    """Return the sizes of the sets for `total` rows by the largest remainder; ties go to the earlier set."""
    exact = [total * part for part in parts]
    whole = [int(each) for each in exact]
    by_remainder = sorted(range(len(SETS)), key=lambda index: (whole[index] - exact[index], index))
    for index in by_remainder[: total - sum(whole)]:
        whole[index] += 1
    return whole[0], whole[1], whole[2]


def by_fraction(total: int, parts: Shares) -> Assignment:
    """Assign every row to a set."""
    assignment: Assignment = [None] * total
    _deal(assignment, _shuffled(range(total)), parts)
    return assignment


def by_column(values: Iterable[str | None]) -> Assignment:
    """Assign rows by the name of a set, in any case. Rows with another value are in no set."""
    return [None if value is None else _WORDS.get(value.strip().lower()) for value in values]


def by_time(values: Iterable[str | None], parts: Shares) -> Assignment:
    """Assign rows by time. Rows without a time in RFC 3339 with the offset Z are in no set."""
    moments = [None if value is None else _moment(value) for value in values]
    timed = [(moment, index) for index, moment in enumerate(moments) if moment is not None]
    assignment: Assignment = [None] * len(moments)
    _deal(assignment, [index for _, index in sorted(timed)], parts)
    return assignment


def by_category(values: Sequence[str], parts: Shares) -> Assignment:
    """Assign rows with exact shares within each value.

    Values with fewer than three rows, and all but the 500 most frequent values, form one group.
    """
    frequent = {
        value
        for value, number in sorted(Counter(values).items(), key=lambda each: (-each[1], each[0]))[
            :_TOP_CATEGORIES
        ]
        if number >= _FEW_ROWS
    }
    groups: dict[str | None, list[int]] = {}
    for index, value in enumerate(values):
        groups.setdefault(value if value in frequent else None, []).append(index)
    assignment: Assignment = [None] * len(values)
    for members in groups.values():
        _deal(assignment, _shuffled(members), parts)
    return assignment


def by_filter(labels: Sequence[Mapping[str, str]], split: ByFilter) -> Assignment:
    """Assign items by filters. Items that match no filter are in no set. Raises `filters.FilterError`."""
    tests = [item_filter(text) for text in (split.training, split.validation, split.test)]
    return [next((index for index, test in enumerate(tests) if test(each)), None) for each in labels]


def item_filter(text: str) -> Callable[[Mapping[str, str]], bool]:
    """Parse a filter and return its predicate on an item's labels. The filter `-` matches nothing.

    Raises `filters.FilterError`.
    """
    if text.strip() == "-":
        return lambda _: False
    if not text.strip():
        raise filters.FilterError("it is empty; write - for a set without items")
    expression = filters.mapped(filters.parse(text, presence=True), _checked)
    return lambda labels: filters.matches(expression, lambda comparison: _holds(comparison, labels))


def _checked(comparison: filters.Comparison) -> filters.Comparison:
    if not comparison.field.startswith("labels."):
        raise filters.FilterError(
            f"{comparison.field!r} cannot be filtered by; use labels.KEY, such as "
            "labels.aiplatform.googleapis.com/ml_use = training"
        )
    if comparison.operator not in ("=", "!=", ":"):
        raise filters.FilterError(f"{comparison.field} can be compared with =, != and : only")
    return comparison


def _holds(comparison: filters.Comparison, labels: Mapping[str, str]) -> bool:
    value = labels.get(comparison.field.removeprefix("labels."))
    if comparison.operator == "!=":
        return value != comparison.value
    if comparison.operator == ":" and comparison.value == "*":
        return value is not None
    return value == comparison.value


def _deal(assignment: Assignment, members: Sequence[int], parts: Shares) -> None:
    start = 0
    for index, number in enumerate(counts(len(members), parts)):
        for member in members[start : start + number]:
            assignment[member] = index
        start += number


def _shuffled(members: Sequence[int]) -> list[int]:
    def rank(member: int) -> bytes:
        return hashlib.blake2b(member.to_bytes(8, "big"), digest_size=8).digest()

    return sorted(members, key=rank)


def _moment(text: str) -> tuple[datetime, str] | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}"), (match[3] or "").rstrip("0")
    except ValueError:
        return None
