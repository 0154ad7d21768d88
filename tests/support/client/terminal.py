"""The Pulumi CLI on a terminal: what its display has drawn."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.client.engine import Engine
from support.waiting import eventually

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
_NEXT_TABLE = re.compile(r"\x1b\[\d+A")
_STACK = re.compile(r".*pulumi:pulumi:Stack.*?(?:\(1s\)|running)")
_TIMES = (
    (r"\([\d.]+s\)\.*", "(1s)"),
    (r"\b\d+s\b(?! ?\))", "9s"),
    (r"\bat \d[\d:]*", "at 12"),
    (r"running\.+", "running"),
)
_LETTERS = 4
"""How many letters more or less a row has at its cut end, where times before it are shorter or longer."""
_CAPTURES = Path(__file__).parents[2] / "engine" / "captures"


@dataclass
class Terminal:
    """A command on a terminal, and all that it has drawn."""

    process: subprocess.Popen[bytes]
    leader: int
    columns: int
    drawn: bytearray = field(default_factory=bytearray)

    def resize(self, columns: int) -> None:
        self.columns = columns
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    @property
    def text(self) -> str:
        """Everything that was drawn, without the codes of the terminal."""
        return re.sub(r"[\r\n]+", "\n", _CODES.sub("", self.drawn.decode(errors="replace")))

    def tables(self, *, since: int = 0) -> list[list[str]]:
        """Return the lines of each table that was drawn whole, after so many bytes."""
        drawn = _NEXT_TABLE.split(self.drawn[since:].decode(errors="replace"))[:-1]
        lines = ([line.rstrip() for line in re.split(r"[\r\n]+", _CODES.sub("", one))] for one in drawn)
        return [[line for line in table if line] for table in lines]

    def infos(self, name: str) -> list[str]:
        """Return what the Info column had in the row of a job, each text once."""
        row = re.compile(rf"CustomJob +{name} +(?:creating|created) \([0-9.]+s\)\.* +(.*)")
        lines = self.text.splitlines()
        return list(dict.fromkeys(found[1].rstrip() for line in lines if (found := row.search(line))))

    def capture(self, name: str, columns: int, *shows: str, record: bool = False) -> None:
        """Compare the table in so many columns with the file of this name, once its rows have these texts.

        Resources are in the order of their types, and rows below them in the order of names and texts: what
        happens at the same time has no order of its own.
        """
        self.resize(columns)
        before = len(self.drawn)

        def whole() -> list[str]:
            # The first tables may have the former width.
            found = [table for table in self.tables(since=before)[2:] if "Type" in table[0]]
            return found[-1] if found and all(any(one in row for row in found[-1]) for one in shows) else []

        drawn = eventually(whole, what=lambda: self.tables(since=before)[-1:])
        drawn = drawn[: drawn.index("Resources:")] if "Resources:" in drawn else drawn  # a count follows
        table = sorted((_normal(row, columns) for row in drawn), key=_order)
        file = _CAPTURES / f"{name}-{columns}.txt"
        if record:
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(table) + "\n")
        expected = sorted(file.read_text().splitlines(), key=_order)
        assert len(table) == len(expected), "\n".join(table)
        assert all(map(_is_like, table, expected)), "\n".join(table)


def _normal(row: str, columns: int) -> str:
    """Return a row with equal times and gaps. One that may be cut ends with three dots."""
    cut = len(row) >= columns - 2
    for pattern, time in _TIMES:
        row = re.sub(pattern, time, row)
    if stack := _STACK.match(row):  # its messages have folders of the test in them
        row, cut = stack[0], False
    row = re.sub(r"(?<=\S) {2,}", "  ", row).replace("├─", "└─")
    return re.sub(r"[\s\d]+$", "", row) + "..." if cut else row


def _order(row: str) -> tuple[int, str, str]:
    if "Type" in row or "pulumi:pulumi:Stack" in row:
        return (0, "", "") if "Type" in row else (1, "", "")
    columns = re.split(" {2,}", row.strip())
    is_resource = re.search(r"\w:\w+:\w", columns[0] + columns[1])
    return (2, row, "") if is_resource else (3, columns[1], columns[0])


def _is_like(row: str, expected: str) -> bool:
    if not (row + expected).count("..."):
        return row == expected
    shorter, longer = sorted((row.removesuffix("..."), expected.removesuffix("...")), key=len)
    return longer.startswith(shorter) and len(longer) - len(shorter) <= _LETTERS


@contextmanager
def running(engine: Engine, *arguments: str, columns: int) -> Iterator[Terminal]:
    """Run a command of the Pulumi CLI on a terminal until the block ends.

    The command has to be an ancestor of its program, so this is not a warm one.
    """
    leader, follower = pty.openpty()
    left_out = ("CI", "PULUMI_PYTHON_CMD")
    variables = {name: value for name, value in engine.environment.items() if name not in left_out}
    process = subprocess.Popen(
        ["pulumi", *arguments],
        cwd=engine.folder,
        env={**variables, "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    made = Terminal(process, leader, columns)
    made.resize(columns)
    os.close(follower)

    def read() -> None:
        try:
            while piece := os.read(leader, 65536):
                made.drawn.extend(piece)
        except OSError:  # the terminal is closed
            os.close(leader)

    threading.Thread(target=read, daemon=True).start()
    try:
        yield made
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
