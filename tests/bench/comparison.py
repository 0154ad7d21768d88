"""The same work on several servers or by several programs, in turns, within the same minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from figure import Figure

BUDGET = 1.25
"""The limit as a multiple of the best peer's time."""


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turns(actions: Mapping[str, Callable[[], float]], *, rounds: int) -> dict[str, float]:
    """Return the least of the seconds that each action returns, over rounds of all actions."""
    found = {name: [action()] for name, action in actions.items()}
    for _ in range(rounds - 1):
        for name, action in actions.items():
            found[name].append(action())
    return {name: min(times) for name, times in found.items()}


def against(
    name: str,
    took: Mapping[str, float],
    *,
    ours: str = "ours",
    missing: Sequence[str] = (),
    scale: float = 1,
    unit: str = "s",
    budget: float | None = BUDGET,
) -> Figure:
    """Return the figure of `ours` against the best other; alone, its time. `missing`: who and why."""
    note = "; ".join(
        [
            *(f"{who} {value * scale:.3g} {unit}" for who, value in took.items()),
            *(f"without {m}" for m in missing),
        ]
    )
    others = [value for who, value in took.items() if who != ours]
    if not others:
        return Figure(name=name, value=took[ours] * scale, unit=unit, note=note)
    return Figure(
        name=f"{name}, against the best peer",
        value=took[ours] / min(others),
        unit="x",
        budget=budget,
        note=note,
    )
