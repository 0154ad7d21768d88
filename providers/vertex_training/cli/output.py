"""How results look: JSON, plain lines in a pipe, tables and colour on a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STATE_STYLES: Mapping[str, str] = {
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "FAILED": "red",
    "EXPIRED": "red",
    "CANCELLED": "yellow",
    "CANCELLING": "yellow",
    "STOPPED": "yellow",
}
"""Styles of rich; a state that is not here has none. Replicas have the same states in lower case."""

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

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, state_column: int) -> None:
        """Rows of one kind. The state's column is coloured on a terminal."""
        if not self.terminal:
            widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
            for row in (headings, *rows):
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                print("  ".join(cells).rstrip())
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            style = STATE_STYLES.get(row[state_column].upper(), "")
            table.add_row(
                *(Text(cell, style if index == state_column else "") for index, cell in enumerate(row))
            )
        Console().print(table)

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


def for_streams(*, as_json: bool) -> Output:
    """What standard output is."""
    for stream in (sys.stdout, sys.stderr):
        # A log may hold what the terminal's encoding has no characters for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return Output(as_json=as_json, terminal=not as_json and _wants_colour(sys.stdout))


def _wants_colour(stream: Any) -> bool:
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
