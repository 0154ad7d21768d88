"""Amounts of money in words."""

from __future__ import annotations

import math

_CENTS = 2
_MOST_DIGITS = 6


def usd(amount: float) -> str:
    """Return an amount as people read it: "$101.01", "$0.62", "$0.027". Only zero is "$0.00".

    Below ten cents it has two digits that count, without a final zero.
    """
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if 0 < size < 0.5 * 10**-_MOST_DIGITS:
        return f"{sign}less than $0.000001"
    digits = _CENTS
    if 0 < size < 0.1:
        digits = min(1 - math.floor(math.log10(size)), _MOST_DIGITS)
    text = f"{size:,.{digits}f}"
    while len(text.partition(".")[2]) > _CENTS and text.endswith("0"):
        text = text[:-1]
    return f"{sign}${text}"
