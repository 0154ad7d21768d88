"""Calls that are made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8
"""The most calls at a time, unless a caller knows better."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def call_each(
    call: Callable[[Item], Result], items: Iterable[Item], *, at_once: int = AT_ONCE
) -> list[Result]:
    """Return the result of a call for each item, in their order. The first error in this order is raised."""
    given = list(items)
    if len(given) < 2:
        return [call(item) for item in given]
    with ThreadPoolExecutor(min(len(given), at_once)) as pool:
        return list(pool.map(call, given))
