"""Numbers of bytes in words."""

from __future__ import annotations

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def in_words(count: int) -> str:
    """Format a number of bytes, such as "1.5 MB"."""
    size = float(count)
    for unit in _UNITS:
        if size < 1000 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
