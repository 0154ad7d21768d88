"""Amounts of money in words."""

from __future__ import annotations

import math

AT_MAXIMUM = "with autoscaled pools at their maximum"
"""The size of a persistent resource at which it costs the most, after an amount."""
_CENTS = 2
_MOST_DIGITS = 6


def usd(amount: float) -> str:
    """Return an amount as people read it: "$101.01", "$0.62", "$0.027". Only zero is "$0.00".

    Amounts below ten cents have two significant digits.
    """
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if 0 < size < 0.5 * 10**-_MOST_DIGITS:
        return f"{sign}less than $0.000001"
    return f"{sign}${decimal(size, places=_CENTS)}"


def decimal(number: float, *, places: int) -> str:
    """Return a number that is not negative with `places` decimals: "12,345.60".

    Numbers between 0 and 0.1 have two significant digits, and at most six decimals: "0.0026".
    """
    digits = places
    if 0 < number < 0.1:
        digits = min(1 - math.floor(math.log10(number)), _MOST_DIGITS)
    whole, _, decimals = f"{number:,.{digits}f}".partition(".")
    return f"{whole}.{decimals[:places]}{decimals[places:].rstrip('0')}"
