"""Amounts of money in words."""

from __future__ import annotations

_CENTS = 2
_MOST_DIGITS = 6


def usd(amount: float) -> str:
    """Return an amount as people read it: "$101.01", "$0.62", "$0.0041". Only zero is "$0.00"."""
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    digits = _CENTS
    while 0 < size < 0.1 and digits < _MOST_DIGITS and float(f"{size:.{digits - 1}f}") == 0:
        digits += 1
    if 0 < size < 0.5 * 10**-_MOST_DIGITS:
        return f"{sign}less than $0.000001"
    return f"{sign}${size:,.{digits}f}"
