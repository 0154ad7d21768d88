"""How results look: JSON, plain lines in a pipe, tables and colour on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

STATE_STYLES: Mapping[str, str] = {
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "FAILED": "red",
    "EXPIRED": "red",
    "CANCELLED": "yellow",
    "CANCELLING": "yellow",
    "STOPPED": "yellow",
    "STOPPING": "yellow",
    "ACTIVE": "cyan",
    "INFEASIBLE": "red",
}
"""Styles of rich; a state that is not here has none. Replicas have the same states in lower case, trials
some of their own."""

Cell = str | tuple[str, str]
"""A cell of a table: its text, or a text and a detail."""

_STYLES: Mapping[str, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_PREFIX_COLOURS = (36, 35, 33, 32, 34, 96, 95, 93, 92, 94)
_SEVERE = frozenset({"WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"})


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a command prints to. `terminal`: standard output is one, and colour is welcome."""

    as_json: bool
    terminal: bool

    def document(self, value: Mapping[str, Any]) -> None:
        """The result of a command with --json."""
        print(json.dumps(value, indent=2, ensure_ascii=False))

    def line(self, text: str = "") -> None:
        """A line of the result for people."""
        print(text)

    def paint(self, text: str, style: str) -> str:
        """The text in a style of `_STYLES` on a terminal, else as it is."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.terminal and style and text else text

    def section(self, title: str) -> None:
        """A heading with an empty line before it."""
        print(f"\n{self.paint(title, 'bold')}")

    def paragraph(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """A text, wrapped on a terminal; one line in a pipe, where other programs read it.

        As in `pairs` and `table`, control characters are shown as escapes.
        """
        for line in self._wrapped(visible(text), indent):
            print(" " * indent + self.paint(line, style))

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names and values below a section; long values are wrapped beside their names on a terminal."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            lines = self._wrapped(visible(value), width + 4)
            for i, line in enumerate(lines):
                print(f"  {'' if i else visible(name):<{width}}  {line}".rstrip())

    def _wrapped(self, text: str, indent: int) -> list[str]:
        if not self.terminal:
            return [text]
        width = max(shutil.get_terminal_size().columns - indent, 20)
        # Addresses stay whole, for the terminal to wrap: so they can be copied.
        return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        state_column: int | None = None,
        styles: Sequence[str] = (),
        indent: int = 0,
    ) -> None:
        """Rows of one kind. On a terminal the state's column is coloured by the state, other columns by
        `styles`; the second part of a cell stands below the first there, else behind it.
        """
        if not self.terminal:
            plain = [[_in_one_line(cell) for cell in row] for row in (headings, *rows)]
            widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
            for line in plain:
                padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                print((" " * indent + "  ".join(padded)).rstrip())
            return
        from rich.console import Console
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        console = Console()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        widest = max((len(line) for row in rows for line in _parts(row[0])), default=0)
        for index, heading in enumerate(headings):
            # What a row is called stays in one piece, to be copied, where it leaves the others half a line.
            table.add_column(heading, overflow="fold", no_wrap=index == 0 and widest <= console.width // 2)
        for row in rows:
            cells = []
            for index, (cell, style) in enumerate(zip_longest(row, styles[: len(row)], fillvalue="")):
                main, detail = _parts(cell)
                state = STATE_STYLES.get(main.upper(), "") if index == state_column else style
                cells.append(Text(main, state).append(f"\n{detail}" if detail else "", "dim"))
            table.add_row(*cells)
        console.print(Padding(table, (0, 0, 0, indent)))

    def log_line(self, *, task: str, severity: str, message: str, width: int, number: int) -> None:
        """A line of a replica's log. `number` chooses the colour of its prefix."""
        for line in message.split("\n"):
            if not self.terminal:
                print(f"{task:<{width}} | {line}", flush=True)
                continue
            colour = _PREFIX_COLOURS[number % len(_PREFIX_COLOURS)]
            text = f"\x1b[31m{line}\x1b[0m" if severity in _SEVERE else line
            print(f"\x1b[{colour}m{task:<{width}} |\x1b[0m {text}\x1b[0m", flush=True)

    def note(self, text: str) -> None:
        """Something beside the result, for people only."""
        if not self.as_json:
            print(text, file=sys.stderr, flush=True)

    def errors(self, errors: Sequence[Mapping[str, str]]) -> None:
        """Why the command ends: on standard output as JSON, else a line each on standard error."""
        if self.as_json:
            self.document({"errors": list(errors)})
            return
        red, plain = ("\x1b[31m", "\x1b[0m") if _wants_colour(sys.stderr) else ("", "")
        sys.stdout.flush()
        for error in errors:
            print(f"{red}error:{plain} {error['message']}", file=sys.stderr)


def visible(text: str) -> str:
    """The text with control characters as escapes, so that no file can draw on a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _parts(cell: Cell) -> tuple[str, str]:
    main, detail = (cell, "") if isinstance(cell, str) else cell
    return visible(main), visible(detail)


def _in_one_line(cell: Cell) -> str:
    main, detail = _parts(cell)
    return f"{main} ({detail})" if detail else main


def for_streams(*, as_json: bool) -> Output:
    """What standard output is."""
    for stream in (sys.stdout, sys.stderr):
        # A log may hold what the terminal's encoding has no characters for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return Output(as_json=as_json, terminal=not as_json and _wants_colour(sys.stdout))


def _wants_colour(stream: Any) -> bool:
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
