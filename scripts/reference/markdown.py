"""The parts of a page: header, tables, links to the other pages of docs/."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scripts.arguments.catalog import ROOT

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"

HEADER = "<!-- Written by `make generate` from the code: do not edit. -->\n\n"

_PAGE = re.compile(r"\bdocs/((?:[\w-]+/)*[\w-]+\.md)(#[\w-]+)?")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_WIDTH = 118


class UnknownPageError(Exception):
    """A text of the code names a page of docs/ that does not exist."""


def table(page: Path, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of a page; a column without any content is left out."""
    lines = list(rows)
    used = [at for at in range(len(head)) if not lines or any(line[at] for line in lines)]
    shown = [tuple(line[at] for at in used) for line in (head, ("---",) * len(head), *lines)]
    return "".join("| " + " | ".join(cell(page, text) for text in line) + " |\n" for line in shown)


def items(page: Path, entries: Iterable[tuple[str, str, str]]) -> str:
    """Return a list of names, each with its facts and its meaning. Unlike a table, it fits a narrow screen.

    Facts are a type, a default and the like, or "".
    """
    return "".join(
        f"* {inline(page, name)}: {inline(page, f'*{facts}*. ' if facts else '')}{inline(page, meaning)}\n"
        for name, facts, meaning in entries
    )


def without_repeats(parts: Iterable[str], known: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the parts of a page; entries of an earlier list are a link to its heading.

    `known` has entries of other pages, each with the link to its heading.
    """
    first: dict[str, str] = dict(known or {})
    here = ""
    for part in parts:
        if part.startswith("#"):
            title = part.lstrip("# ")
            here = f"[{title}](#{anchor(title)})"
        if not part.startswith("* `") or re.match(r"\* `\w+\(", part):  # no list, or one of methods
            yield part
            continue
        rows = part.rstrip("\n").split("\n")
        by_link: dict[str, list[str]] = {}
        for row in rows:
            by_link.setdefault(first.setdefault(row, here), []).append(row)
        repeated = {link: of for link, of in by_link.items() if link != here and len(of) > 1}
        if own := [row for row in rows if first[row] not in repeated]:
            yield "\n".join(own)
        for link, of in repeated.items():
            yield filled(f"As in {link}: {', '.join(f'`{row.split(chr(96))[1]}`' for row in of)}.")


def value_entry(name: str, kind: str, default: str, change: str, meaning: str) -> tuple[str, str, str]:
    """Return the entry of a list for a value: its name, its type, default and change, and its meaning."""
    given = f"default {default}" if default and default != "required" else default
    facts = "; ".join(each for each in (", ".join(each for each in (kind, given) if each), change) if each)
    return f"`{name}`", facts, meaning


def cell(page: Path, text: str) -> str:
    """Return a text as it is written in a cell of a table."""
    return inline(page, text).replace("|", "\\|")


def inline(page: Path, text: str) -> str:
    """Return a text in one line. Its only HTML are anchors and line breaks."""
    end = " " if text.endswith(" ") else ""
    plain = " ".join(linked(page, text).split()).replace("``", "`") + end
    parts = re.split(r"(`[^`]*`)", plain)
    return "".join(
        part if part.startswith("`") else re.sub(r"<(?!/?a\b|br>)", "&lt;", part) for part in parts
    )


def linked(page: Path, text: str) -> str:
    """Return a text with links to the pages that it names, relative to the page that has the text.

    The text of a link is the heading that it leads to.
    """

    def link(found: re.Match[str]) -> str:
        target, section = _found(found[1]), found[2] or ""
        return f"[{_heading(target, section.lstrip('#'))}]({relative(page, target)}{section})"

    return _PAGE.sub(link, text)


def _heading(page: Path, section: str) -> str:
    """Return the heading of a page or of a section. Raises UnknownPageError."""
    for heading in _HEADING.findall(page.read_text(encoding="utf-8")):
        if section in ("", anchor(heading)):
            return str(heading).strip()
    raise UnknownPageError(
        f"{page.relative_to(ROOT)}#{section}: no such heading; correct the text in the code."
    )


def relative(page: Path, target: Path) -> str:
    """Return the path of a target from the folder of a page."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def _found(name: str) -> Path:
    """Return the page of docs/ with this path, or the only page with this file name.

    Raises UnknownPageError.
    """
    if (DOCS / name).exists():
        return DOCS / name
    same = [path for path in sorted(DOCS.rglob(Path(name).name)) if REFERENCE not in path.parents]
    if len(same) != 1:
        raise UnknownPageError(f"docs/{name}: there is no such page; correct the text in the code.")
    return same[0]


def prose(text: str) -> str:
    """Return a text of several paragraphs and blocks of code, in lines of the usual width."""
    return "\n\n".join(_paragraphs(inspect.cleandoc(text).replace("``", "`")))


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\n+(?! {4})|(?<=\n)\n+(?=\S)", text):
        words, _, block = part.partition("\n\n    ")
        if part.startswith("    "):
            yield code(textwrap.dedent(part), "python")
        elif block:
            yield from _paragraphs(words)
            yield code(textwrap.dedent(f"    {block}"), "python")
        elif re.match(r"[*-] ", part):
            yield part
        else:
            yield filled(part)


def filled(text: str) -> str:
    """Return a paragraph in lines of the usual width."""
    return textwrap.fill(" ".join(text.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)


def code(text: str, language: str = "") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip(chr(10))}\n```"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub and the site give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
