"""All generated files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scripts.arguments import classes, pages, resources


def outdated() -> Mapping[Path, str]:
    """Return the files that differ from what the messages say, with the text that they should have."""
    made = dict([*resources.modules(), *classes.modules(), *pages.pages()])
    return {path: text for path, text in made.items() if not path.exists() or path.read_text() != text}
