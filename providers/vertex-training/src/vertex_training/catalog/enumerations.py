"""Enums of the API as tables of names and numbers, and the enum of reservation affinities.

Google's own client sends enums as numbers over REST; people write names. A spec keeps the name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vertex_training.catalog import api


@dataclass(frozen=True, eq=False)
class ByNumber:
    """Convert a number of an enum, 3 or 3.0, to its name; return any other value unchanged.

    `old` are the names that the service replaced with others, or accepts no more.
    """

    numbers: Mapping[str, int]
    old: Collection[str] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names to choose from."""
        return tuple(name for name, number in self.numbers.items() if number and name not in self.old)

    def __call__(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return next((name for name, number in self.numbers.items() if number == value), value)


RESERVATION_UNSPECIFIED = "TYPE_UNSPECIFIED"
SPECIFIC_RESERVATION = "SPECIFIC_RESERVATION"

RESERVATION_NUMBERS = api.ENUMS["ReservationAffinity.Type"]
"""Every name and its number in the enum."""

RESERVATION_NAMES: tuple[str, ...] = tuple(
    name for name in RESERVATION_NUMBERS if name != RESERVATION_UNSPECIFIED
)

reservation_by_number = ByNumber(RESERVATION_NUMBERS)
"""Convert a number of the enum to its name; return any other value unchanged."""
