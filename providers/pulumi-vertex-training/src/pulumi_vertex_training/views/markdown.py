"""Parts of a Markdown text, such as a comment of a pull request, with text of others in them.

A comment obeys more than its layout: "@team" notifies people, "#12", "team/project#12", addresses and "$x$"
become links and formulas, and on GitLab a line that begins with "/merge" is a command. What a program, a
service or a state says is therefore escaped, and always on one line that begins with something else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from vertex_training.findings.words import visible

_SPECIAL = re.compile(r"[\\`*_\[\]|~]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_LIVE = re.compile(
    r"""
    (?<!\w)[@:](?=\w)                        # @team, :smile:
    | :(?=[+-]?\w+:)                         # :+1:, and :smile: after a word
    | @(?=[\w-]+\.\w)                        # user@example.com; not image@sha256:...
    | [#!%~&^](?=[\w"])                      # #12, org/repo#1, group/project!1, ~"a label"
    | \$(?=\d+(?!\d*[.,]\d))                # $12, a snippet; not the price $1.00
    | \b(?:GH|GHSA|CVE|GL)-(?=\w)            # GH-12
    | \[(?=\w+:)                             # [vulnerability:1]
    | \b(?!gs\b)[a-z][a-z0-9+.-]*:(?=//)     # https://host; no site follows gs://
    | \bwww\.(?=\S)
    | \b[0-9a-f](?=[0-9a-f]{6,39}\b)(?=[0-9]*[a-f])(?=[a-f]*[0-9])  # the hash of a commit
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The beginnings of what becomes a link, notifies people, or is drawn as something else."""
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_PATH = re.compile(r"[^\s`\"'<>|\\(){}\[\],;$*]*/[^\s`\"'<>|\\(){}\[\],;$*]*(?<=[\w/])")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BAR = re.compile(r"(\\*)\|")
_JOINER = "\u2060"
"""The word joiner, which has no width: between a sign and a name it keeps them from being a link."""

LONGEST_TEXT = 800
LONGEST_CODE = 200


def escaped(text: str, *, longest: int = LONGEST_TEXT) -> str:
    """Return a text that Markdown shows as it is, on one line, in a table as well; cut if it is long."""
    return _escaped_line(_line(text, longest))


def message(text: str, *, longest: int = LONGEST_TEXT) -> str:
    """Return a message with what it has between backticks as code, and the rest as `escaped` does."""
    # Two dollars around code are a formula.
    parts = _CODE.split(_line(text, longest).replace("$`", f"${_JOINER}`"))
    return "".join(
        code(part, longest=longest) if is_code else _escaped_line(part)
        for part, is_code in zip(parts, itertools.cycle((False, True)), strict=False)
    )


def _escaped_line(line: str) -> str:
    """Return a line with its addresses as code: they can be copied, and a site makes no link of them."""
    parts, end = [], 0
    for found in _PATH.finditer(line):
        scheme = _SCHEME.search(found[0])
        start = found.start() + (scheme.start() if scheme else 0)
        # A dollar before code begins a formula.
        if (scheme or _LIVE.search(found[0])) and line[start - 1 : start] not in ("$", "`", "\\"):
            parts += [_plain(line[end:start]), code(line[start : found.end()], longest=LONGEST_TEXT)]
            end = found.end()
    return "".join([*parts, _plain(line[end:])])


def _plain(line: str) -> str:
    line = _LIVE.sub(lambda found: f"{found[0]}{_JOINER}", line)
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", line)
    return "".join(_ENTITIES.get(character, character) for character in line)


def code(text: str, *, longest: int = LONGEST_CODE) -> str:
    """Return a text as code, on one line, in a table as well; cut if it is long. "" stays empty."""
    line = _line(text, longest)
    if not line:
        return ""
    # A fence longer than every run of backticks in the text; a table ends its cells at bars, even in code.
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return _BAR.sub(_escaped_bar, f"{fence}{space}{line}{space}{fence}")


def _escaped_bar(found: re.Match[str]) -> str:
    """Return a bar after an odd number of backslashes: after an even number it would end the cell."""
    backslashes = found[1]
    return backslashes + ("\\" if len(backslashes) % 2 == 0 else "\\\\") + "|"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; its cells are Markdown."""
    yield _row(headings)
    yield _row(["---"] * len(headings))
    for row in rows:
        yield _row(row)


def mermaid(diagram: str) -> str:
    """Return a diagram as a block that GitHub and GitLab draw."""
    return f"```mermaid\n{diagram}\n```"


def details(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a block that is closed until a reader opens it; `summary` is escaped text."""
    yield f"<details><summary>{summary}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(text: str, longest: int) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 4]} ..."
