"""How a machine uses reserved capacity (enum `google.cloud.aiplatform.v1.ReservationAffinity.Type`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.catalog import enumerations

UNSPECIFIED = "TYPE_UNSPECIFIED"
SPECIFIC = "SPECIFIC_RESERVATION"

NUMBERS: Mapping[str, int] = MappingProxyType(
    {UNSPECIFIED: 0, "NO_RESERVATION": 1, "ANY_RESERVATION": 2, SPECIFIC: 3}
)
"""Every name with its number in the enum."""

NAMES: tuple[str, ...] = tuple(name for name in NUMBERS if name != UNSPECIFIED)

by_number = enumerations.by_number(NUMBERS)
"""The name of a number of the enum; any other value comes back as it is."""
