"""A bar of characters that shows how much is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def bar(percent: int, width: int, console: Console) -> Text:
    """Return a bar of `width` characters: ASCII if the terminal's encoding has no others."""
    from rich.text import Text

    full, empty = ("#", "-") if console.options.ascii_only else ("\u2588", "\u2591")
    filled = width * min(max(percent, 0), 100) // 100
    return Text(full * filled, "cyan").append(empty * (width - filled), "dim")
