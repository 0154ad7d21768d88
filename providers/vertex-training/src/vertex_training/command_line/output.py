"""Print answers: as JSON, as plain lines in a pipe, as tables and colour on a terminal, as Markdown."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from vertex_training.fields.json_numbers import without_nan
from vertex_training.findings.words import visible, visible_json, visible_lines

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
"""Styles of rich for states; other states have none.

Replicas have the same states in lower case; trials also have some of their own.
"""

_COMMAND = re.compile(r"`[^`]+`")
_KEPT = "\ufffe"
"""Stands for a space at which no line is broken. Unicode never assigns this character."""

Line = str | tuple[str, str]
Cell = Line | list[str]
"""A cell of a table: its text, or a text and a detail, or lines below each other."""


class Code(str):
    """A text of a cell that is code, such as a name or a command; only Markdown shows the difference."""

    __slots__ = ()


Style = Literal["", "bold", "dim", "red", "green", "yellow"]
"""A style of a text that is not in a table; "" for none."""

_STYLES: Mapping[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_PREFIX_COLOURS: Mapping[str, int] = {
    "cyan": 36, "magenta": 35, "yellow": 33, "green": 32, "blue": 34, "bright_cyan": 96, "bright_magenta": 95,
    "bright_yellow": 93, "bright_green": 92, "bright_blue": 94,
}  # fmt: skip
PREFIX_STYLES = tuple(_PREFIX_COLOURS)
"""Styles of rich for the names of replicas before the lines of their logs."""

_NARROWEST = 20
_GAP = 2
"""Spaces after a column."""
_LEVELS: Mapping[str, Style] = {
    "ok": "green", "note": "dim", "unknown": "dim", "info": "", "warning": "yellow", "error": "red",
}  # fmt: skip
_SEVERE = frozenset({"WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"})


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a command: the parts of which answers are made, on a terminal or in a pipe.

    `terminal` is true if standard output is a terminal that shows colours, `coloured_errors` if standard
    error is. `runnable` replaces the commands in a message by those that work in the user's shell. A subclass
    prints the same parts as Markdown.
    """

    as_json: bool
    terminal: bool
    coloured_errors: bool = False
    runnable: Callable[[str], str] = str

    def document(self, value: Mapping[str, Any]) -> None:
        """Print the result of a command with --json."""
        print(visible_json(_json(value, indent=2)))

    def document_line(self, value: Mapping[str, Any]) -> None:
        """Print one of several documents on a line of its own, at once."""
        print(visible_json(_json(value)), flush=True)

    def document_part(self, text: str) -> None:
        """Print a part of a document that is too large to be held."""
        sys.stdout.write(visible_json(text))

    def line(self, *parts: str | tuple[str, Style]) -> None:
        """Print a line of the result for people: texts, or texts with their styles.

        As everywhere in this class, characters that could control the terminal are printed as escapes.
        """
        pairs: list[tuple[str, Style]] = [(part, "") if isinstance(part, str) else part for part in parts]
        print("".join(self.paint(visible_lines(self.runnable(text)), style) for text, style in pairs))

    def paint(self, text: str, style: Style) -> str:
        """Return the text in a style on a terminal, else unchanged."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.terminal and style and text else text

    def title(self, text: str, summary: str = "") -> None:
        """Print the heading of an answer, and its summary, a sentence without its full stop."""
        self.paragraph(f"{text}: {summary}." if summary else text, style="bold")

    def gap(self) -> None:
        """Print an empty line before the next part."""
        print()

    def signed(self, sign: str, word: str) -> str:
        """Return a word for a cell, with a sign by which it is found at a glance; Markdown has none."""
        return f"{sign} {word}"

    def section(self, title: str) -> None:
        """Print a heading after an empty line."""
        print(f"\n{self.paint(visible(title), 'bold')}")

    def paragraph(self, text: str, *, indent: int = 0, style: Style = "") -> None:
        """Print a text, wrapped on a terminal; in a pipe it is one line, for other programs to read."""
        for line in self._wrapped(visible(self.runnable(text)), indent):
            print(" " * indent + self.paint(line, style))

    def finding(self, level: str, text: str) -> None:
        """Print a finding in the colour of its level: error, warning, unknown or info.

        Its first line is a paragraph. Further ones, as of a traceback, are not wrapped.
        """
        first, *further = text.split("\n")
        style: Style = "yellow" if level == "unknown" else _LEVELS[level]
        self.paragraph(f"{level}: {first}", style=style)
        for line in further:
            self.line((line, style))

    def results(self, results: Sequence[tuple[str, str, str]]) -> None:
        """Print results of checks: level, sentence, and the remedy, which is not wrapped, for copying."""
        width = 9
        for level, text, remedy in results:
            for position, line in enumerate(self._wrapped(visible(self.runnable(text)), width)):
                print(f"{' ' * width if position else self.paint(f'{level:<{width}}', _LEVELS[level])}{line}")
            if remedy:
                self.line((f"{' ' * width}{remedy}", "dim"))

    def commands(self, title: str, rows: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Print commands: what each is for, the command, which is not wrapped, and remarks."""
        self.section(title)
        for text, command, remarks in rows:
            self.paragraph(f"{text}:", indent=2)
            self.line(f"    {command}")
            for remark in remarks:
                self.paragraph(f"({remark})", indent=4)

    def details(self, summary: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Print a table that a reader of Markdown can open; nothing for people who have the command."""

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Print names and values below a section; long values wrap next to their names on a terminal."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            lines = self._wrapped(visible(self.runnable(value)), width + 4)
            for i, line in enumerate(lines):
                print(f"  {'' if i else visible(name):<{width}}  {line}".rstrip())

    def fact(self, label: str, text: str, *, wraps: bool) -> None:
        """Print a text after its label. On a terminal, its lines continue below it if it `wraps`."""
        for line in self.runnable(text).split("\n"):
            for part in self._wrapped(line, len(label)) if wraps else [line]:
                self.line(f"{label}{part}".rstrip())
                label = " " * len(label)

    def _wrapped(self, text: str, indent: int) -> list[str]:
        if not self.terminal:
            return [text]
        width = max(shutil.get_terminal_size().columns - indent, 20)
        # Commands and addresses are not broken, so that they can be copied.
        text = _COMMAND.sub(lambda found: found[0].replace(" ", _KEPT), text)
        lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
        return [line.replace(_KEPT, " ") for line in lines] or [""]

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        styles: Sequence[str] = (),
        indent: int = 0,
        optional: Collection[str] = (),
        one_line: Collection[str] = (),
        spared: Collection[str] = (),
    ) -> None:
        """Print rows of the same kind, without `optional` columns that have no entry.

        A terminal that is too narrow for all columns has none of the `spared` ones.

        On a terminal, the column STATE is coloured by the state and other columns by `styles`; the detail of
        a cell is below its text there, else after it. With `one_line` each row has one line there: these
        columns are cut where the terminal is too narrow for them, and the others never.
        """
        headings, rows = used_columns(headings, rows, optional)
        if self.terminal and sum(_widths(headings, rows)) > shutil.get_terminal_size().columns - indent:
            headings, rows = without_columns(headings, rows, spared)
        lines = list(_one_line_each(rows))
        if self.terminal:
            _print_terminal_table(headings, lines, styles=styles, indent=indent, one_line=one_line)
        else:
            _print_plain_table(headings, lines, indent=indent)

    def log_line(
        self,
        *,
        task: str,
        severity: str,
        message: str,
        width: int,
        number: int,
        time: str = "",
        raw: bool = False,
    ) -> None:
        """Print a line of a replica's log; `number` selects the colour of its prefix.

        On a terminal a long line continues below its text. With `raw`, a terminal gets the program's own
        control sequences, and no line is broken.
        """
        task, time = visible(task), f"{time} " if time else ""
        for line in (message if raw and sys.stdout.isatty() else visible_lines(message)).split("\n"):
            if not self.terminal:
                print(f"{time}{task:<{width}} | {line}", flush=True)
                continue
            style = PREFIX_STYLES[number % len(PREFIX_STYLES)]
            prefix = f"\x1b[{_PREFIX_COLOURS[style]}m{time}{task:<{width}} |\x1b[0m"
            space = shutil.get_terminal_size().columns - len(time) - max(width, len(task)) - len(" | ")
            for part in [line] if raw else broken(line, space):
                text = f"\x1b[31m{part}\x1b[0m" if severity in _SEVERE else part
                print(f"{prefix} {text}\x1b[0m", flush=True)
                prefix = " " * (len(time) + max(width, len(task)) + len(" |"))

    def note(self, text: str) -> None:
        """Print a remark to standard error, for people only."""
        if not self.as_json:
            print(visible_lines(self.runnable(text)), file=sys.stderr, flush=True)

    def errors(self, errors: Sequence[Mapping[str, str]]) -> None:
        """Print why the command failed: JSON on standard output, else one line each on standard error."""
        errors = [{**error, "message": self.runnable(error["message"])} for error in errors]
        if self.as_json:
            self.document({"errors": errors})
            return
        red, plain = ("\x1b[31m", "\x1b[0m") if self.coloured_errors else ("", "")
        sys.stdout.flush()
        for error in errors:
            print(f"{red}error:{plain} {visible_lines(error['message'])}", file=sys.stderr)


def broken(line: str, width: int) -> list[str]:
    """Break a line of a log at its spaces, so that each part fits; a longer word is broken anywhere."""
    if len(line) <= width or width < _NARROWEST:
        return [line]
    parts = textwrap.wrap(
        line,
        width,
        break_on_hyphens=False,
        drop_whitespace=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return [parts[0].rstrip(), *(part.strip() for part in parts[1:])]


def used_columns(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], optional: Collection[str]
) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Return a table without the optional columns that have no entry."""
    kept = [
        column
        for column, heading in enumerate(headings)
        if heading not in optional or any(row[column] for row in rows)
    ]
    return [headings[column] for column in kept], [[row[column] for column in kept] for row in rows]


def without_columns(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], left_out: Collection[str]
) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Return a table without some columns."""
    kept = [column for column, heading in enumerate(headings) if heading not in left_out]
    return [headings[column] for column in kept], [[row[column] for column in kept] for row in rows]


def _widths(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the width of each column with its gap."""
    lines = [headings, *_one_line_each(rows)]
    return [_GAP + max(len(part) for line in lines for part in _parts(line[i])) for i in range(len(headings))]


def _one_line_each(rows: Sequence[Sequence[Cell]]) -> Iterator[Sequence[Line]]:
    """Yield a row for each line of the cells that have several."""
    for row in rows:
        cells = [cell or [""] if isinstance(cell, list) else [cell] for cell in row]
        yield from zip_longest(*cells, fillvalue="")


def _parts(cell: Line) -> tuple[str, str]:
    main, detail = (cell, "") if isinstance(cell, str) else cell
    return visible(main), visible(detail)


def _cut_widths(
    headings: Sequence[str], rows: Sequence[Sequence[Line]], cut: Collection[str], width: int
) -> list[int]:
    """Return the widths of columns in lines of a width; columns in `cut` share what the others leave."""
    widths = [
        max(len(part) for row in (headings, *rows) for part in _parts(row[column]))
        for column in range(len(headings))
    ]
    shared = sorted((widths[i], i) for i, heading in enumerate(headings) if heading in cut)
    left = width - sum(w + _GAP for i, w in enumerate(widths) if headings[i] not in cut) - _GAP * len(shared)
    for position, (wanted, column) in enumerate(shared):
        widths[column] = max(min(wanted, left // (len(shared) - position)), 1)
        left -= widths[column]
    return widths


def _in_one_line(cell: Line) -> str:
    main, detail = _parts(cell)
    return f"{main} ({detail})" if detail else main


def _json(value: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a document as JSON, which has texts for numbers that are not finite."""
    return json.dumps(without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)


def for_streams(
    *, as_json: bool, environment: Mapping[str, str], runnable: Callable[[str], str] = str
) -> Output:
    """Return the output for the current standard output and error."""
    for stream in (sys.stdout, sys.stderr):
        # A log may have characters that the terminal's encoding does not have.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    colours = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Output(
        as_json=as_json,
        terminal=colours and not as_json and sys.stdout.isatty(),
        coloured_errors=colours and sys.stderr.isatty(),
        runnable=runnable,
    )


def _print_plain_table(headings: Sequence[str], lines: Sequence[Sequence[Line]], *, indent: int) -> None:
    plain = [[_in_one_line(cell) for cell in row] for row in (headings, *lines)]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    for line in plain:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print((" " * indent + "  ".join(padded)).rstrip())


def _print_terminal_table(
    headings: Sequence[str],
    lines: Sequence[Sequence[Line]],
    *,
    styles: Sequence[str],
    indent: int,
    one_line: Collection[str],
) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    widest = max((len(line) for row in lines for line in _parts(row[0])), default=0)
    widths = _cut_widths(headings, lines, one_line, console.width - indent)
    for index, heading in enumerate(headings):
        if one_line:
            table.add_column(Text(visible(heading)), overflow="ellipsis", no_wrap=True, width=widths[index])
            continue
        # The first column is not broken, for copying, if it leaves half a line to the others.
        table.add_column(
            Text(visible(heading)), overflow="fold", no_wrap=index == 0 and widest <= console.width // 2
        )
    for row in lines:
        cells = []
        for index, (cell, style) in enumerate(zip_longest(row, styles[: len(row)], fillvalue="")):
            main, detail = _parts(cell)
            state = STATE_STYLES.get(main.upper(), "") if headings[index] == "STATE" else style
            cells.append(Text(main, state).append(f"\n{detail}" if detail else "", "dim"))
        table.add_row(*cells)
    console.print(Padding(table, (0, 0, 0, indent)))
