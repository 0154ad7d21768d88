"""Enums of the API as tables of names and numbers, and the enum of reservation affinities.

Google's own client sends enums as numbers over REST; people write names. A spec keeps the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType


def by_number(numbers: Mapping[str, int]) -> Callable[[object], object]:
    """Return a function that converts a number of the enum, 3 or 3.0, to its name.

    The function returns any other value unchanged.
    """
    names = {number: name for name, number in numbers.items()}

    def name_of(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return names.get(value, value)  # type: ignore[arg-type]

    return name_of


RESERVATION_UNSPECIFIED = "TYPE_UNSPECIFIED"
SPECIFIC_RESERVATION = "SPECIFIC_RESERVATION"

RESERVATION_NUMBERS: Mapping[str, int] = MappingProxyType(
    {RESERVATION_UNSPECIFIED: 0, "NO_RESERVATION": 1, "ANY_RESERVATION": 2, SPECIFIC_RESERVATION: 3}
)
"""Every name and its number in the enum."""

RESERVATION_NAMES: tuple[str, ...] = tuple(
    name for name in RESERVATION_NUMBERS if name != RESERVATION_UNSPECIFIED
)

reservation_by_number = by_number(RESERVATION_NUMBERS)
"""Convert a number of the enum to its name; return any other value unchanged."""
