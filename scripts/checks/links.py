"""Check the links of Markdown pages: files that exist, and headings or anchors in them.

`python -m scripts.checks.links [FILE_OR_FOLDER...]` prints each broken link with its page, and exits with 1
if there is one. Links to other sites are not followed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def broken_links(page: Path) -> Iterator[str]:
    """Yield the targets of a page that do not exist."""
    for match in _LINK.finditer(_CODE.sub("", page.read_text())):
        path, _, anchor = match[1].partition("#")
        target = page.parent / path if path else page
        if path.startswith(("http:", "https:", "mailto:")):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and not _has(target, anchor)):
            yield match[1]


def _has(page: Path, anchor: str) -> bool:
    text = page.read_text()
    return f'id="{anchor}"' in text or anchor in {_slug(each) for each in _HEADING.findall(text)}


def _slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def pages(paths: list[Path]) -> Iterator[Path]:
    """Yield the Markdown pages among files and in folders."""
    for path in paths:
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


if __name__ == "__main__":
    found = [
        f"{page}: {link}"
        for page in pages([Path(each) for each in sys.argv[1:]])
        for link in broken_links(page)
    ]
    sys.stdout.write("".join(f"{each}\n" for each in found))
    sys.exit(bool(found))
