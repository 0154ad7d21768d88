"""Pages of docs/: their place in the navigation of mkdocs.yml, their length, and links that leave docs/."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

MAX_WORDS = 1500
"""Longest page outside docs/reference/, where readers look something up and do not read on."""

_OTHER_SITE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//|#|/)", re.IGNORECASE)
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_TOP_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SHALLOW = re.compile(r"\n\n {1,3}(?=\S)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)")
_RULING_ROW = re.compile(r"\|(?: *:?-+:? *\|)+")
_RULING = re.compile(r"(?<!\S)[|:-]+(?!\S)")


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without its tags, which name functions of Zensical."""


def _ignore(_loader: yaml.SafeLoader, _suffix: str, _node: yaml.Node) -> None:
    pass


_Loader.add_multi_constructor("!", _ignore)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _ignore)


def navigation(configuration: Path) -> list[str]:
    """Return the pages in the navigation, in its order."""
    return [page for _, pages in sections(configuration) for page in pages]


def sections(configuration: Path) -> list[tuple[str, list[str]]]:
    """Return the sections of the navigation with their pages, in its order."""
    settings = yaml.load(configuration.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    found: list[tuple[str, list[str]]] = []
    for entry in settings.get("nav") or []:
        titles = list(entry) if isinstance(entry, dict) else [""]
        found.append((titles[0], list(_entries(entry))))
    return found


def _entries(item: object) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, list):
        for each in item:
            yield from _entries(each)
    elif isinstance(item, dict):
        for each in item.values():
            yield from _entries(each)


def navigation_problems(configuration: Path, docs: Path) -> Iterator[str]:
    """Yield a message for each page that is not in the navigation once, and each entry without a page."""
    entries = navigation(configuration)
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    for page in sorted(pages - set(entries)):
        yield f"docs/{page}: is not in the navigation. Add it to `nav` in mkdocs.yml."
    for entry in sorted(set(entries)):
        if entry not in pages:
            yield f"mkdocs.yml: nav: docs/{entry} does not exist."
        elif entries.count(entry) > 1:
            yield f"mkdocs.yml: nav: {entry} is there {entries.count(entry)} times."


def shallow_blocks(docs: Path) -> Iterator[str]:
    """Yield a message for each block of a list item that Python-Markdown would put after the list."""
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        text = _TOP_CODE.sub(lambda block: "\n" * block[0].count("\n"), text)
        for block in _SHALLOW.finditer(text):
            line = text.count("\n", 0, block.end()) + 1
            name = page.relative_to(docs)
            yield f"docs/{name}:{line}: Indent what belongs to an item of a list by 4 spaces."


def split_tables(docs: Path) -> Iterator[str]:
    """Yield a message for each row of a table after a blank line, which is shown as text."""
    for page in sorted(docs.rglob("*.md")):
        text = _CODE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
        lines = [each.strip() for each in text.split("\n")]
        neighbors = zip(["", *lines], lines, [*lines[1:], ""], strict=False)
        for number, (before, line, after) in enumerate(neighbors, 1):
            if line.startswith("|") and not before and not _RULING_ROW.fullmatch(after):
                name = page.relative_to(docs)
                yield f"docs/{name}:{number}: Remove the blank line above, or add a row of `| --- |`."


def words(text: str) -> int:
    """Count the words of a page that are read: not its code blocks and not the targets of its links."""
    prose = _TARGET.sub("]", _COMMENT.sub("", _CODE.sub("", text)))
    return len(_RULING.sub(" ", prose).split())


def long_pages(docs: Path) -> Iterator[str]:
    """Yield a message for each page with too many words."""
    for page in sorted(docs.rglob("*.md")):
        path = page.relative_to(docs)
        count = words(page.read_text(encoding="utf-8"))
        if path.parts[0] != "reference" and count > MAX_WORDS:
            yield f"docs/{path}: has {count} words, and at most {MAX_WORDS} are allowed. Split it by task."


def path_in_repository(page: str, link: str) -> str | None:
    """Return the path of a link that leaves docs/, or None for any other link.

    `page` is the path of the page below docs/.
    """
    if not link or _OTHER_SITE.match(link):
        return None
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link.partition("#")[0]))
    return None if target == "docs" or target.startswith("docs/") else target
