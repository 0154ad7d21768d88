"""The log of one task of a job: JSON lines that the supervisor writes and the Logging API reads.

A line is `{"t": time, "s": severity, "n": number, "m": message}`. Times grow strictly within a file, so that
a reader finds a time by binary search, and time plus task name identify an entry.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock

MAX_MESSAGE = 16_384
"""Bytes of one entry's message; longer lines of a program become several entries."""

DEFAULT_LIMIT = 64 * 1024 * 1024
"""Bytes of one task's log. Later lines are dropped, and the log says so."""

_TAIL = 20
_HEAD = b'{"t":"'
_TIME = slice(len(_HEAD), len(_HEAD) + len("2026-01-01T00:00:00.000000Z"))
_BLOCK = 65_536
_MOST = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry; `number` counts from 0 in its task."""

    task: str
    time: str
    severity: str
    number: int
    message: str

    @property
    def insert_id(self) -> str:
        """An id that is unique in the job and sorts in the order of a task's entries."""
        return f"{self.number:09d}-{self.task}"


class LogWriter:
    """Appends entries. A full disk loses entries, never the job: lost lines are counted."""

    def __init__(self, path: Path, *, limit: int = DEFAULT_LIMIT, time: Clock | None = None) -> None:
        self._clock = time or Clock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._limit = limit
        self._size = 0
        self._number = 0
        self._last = 0
        self._lost = 0
        self._full = False
        self._partial: dict[str, bytes] = {}
        self._hidden = b""
        self._tail: deque[str] = deque(maxlen=_TAIL)

    def write(self, message: str, *, severity: str = "INFO") -> None:
        """Append one entry."""
        self._append([(severity, message)])

    def feed(self, severity: str, data: bytes) -> None:
        """Add output of a program: whole lines become entries, the rest begins the next line."""
        text = self._partial.get(severity, b"") + data
        if self._hidden:
            text = text.replace(self._hidden, b"***")
        *lines, rest = text.split(b"\n")
        entries = [(severity, piece) for line in lines for piece in _pieces(line)]
        rest = _last_state(rest)
        while len(rest) > MAX_MESSAGE:
            entries.append((severity, _decode(rest[:MAX_MESSAGE])))
            rest = rest[MAX_MESSAGE:]
        self._partial[severity] = rest
        self._tail.extend(message for _, message in entries)
        self._append(entries)

    def hide(self, secret: str) -> None:
        """Write *** for a secret from here on, in the output of programs; "" hides nothing."""
        self._hidden = secret.encode()

    def tail(self) -> tuple[str, ...]:
        """Return the last lines that the program wrote."""
        return tuple(self._tail)

    def forget_tail(self) -> None:
        """Clear `tail`: from here on, another program writes."""
        self._tail.clear()

    def end_lines(self) -> None:
        """Write the remaining lines that have no line end."""
        for severity, rest in list(self._partial.items()):
            if rest:
                self.feed(severity, b"\n")

    def close(self) -> None:
        """Write the remaining lines that have no line end, and close the file."""
        self.end_lines()
        os.close(self._file)

    def _append(self, entries: list[tuple[str, str]]) -> None:
        if self._full or not entries:
            return
        lines = []
        if self._lost:  # the last write may have ended within a line
            notice = f"Emulator: {self._lost} lines were lost, the disk was full."
            lines.append(b"\n" + self._line("WARNING", notice))
        for severity, message in entries:
            lines.append(self._line(severity, message))
            self._size += len(lines[-1])
            if self._size > self._limit:
                self._full = True
                notice = f"Emulator: the log has reached {self._limit} bytes; further lines are dropped."
                lines.append(self._line("WARNING", notice))
                break
        try:
            _write_all(self._file, b"".join(lines))
            self._lost = 0
        except OSError:
            self._lost += len(entries)
            self._full = False

    def _line(self, severity: str, message: str) -> bytes:
        self._last = max(self._clock.microseconds(), self._last + 1)
        value = {"t": times.from_microseconds(self._last), "s": severity, "n": self._number, "m": message}
        self._number += 1
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _pieces(line: bytes) -> list[str]:
    line = _last_state(line.removesuffix(b"\r"))
    if len(line) <= MAX_MESSAGE:
        return [_decode(line)]
    return [_decode(line[at : at + MAX_MESSAGE]) for at in range(0, len(line), MAX_MESSAGE)]


def _last_state(line: bytes) -> bytes:
    """Return a line, of one that is too long only the last state of its progress bar."""
    return line[line.rfind(b"\r") + 1 :] if len(line) > MAX_MESSAGE else line


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def read(
    path: Path, *, since: str = "", descending: bool = False, size: int | None = None
) -> Iterator[Entry]:
    """Yield the entries of a task's log from the time `since` on, in ascending or descending order.

    `size` limits the read to the first bytes of the file. A line that is still being written is left out.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        end = file.seek(0, os.SEEK_END)
        end = end if size is None else min(end, size)
        start = _find(file, since, end) if since else 0
        lines = _backwards(file, start, end) if descending else _forwards(file, start, end)
        for line in lines:
            if (entry := _entry(path.stem, line)) is not None:
                yield entry


def read_new(path: Path, start: int) -> tuple[list[Entry], int]:
    """Return entries of a task's log from an offset on, and the offset that follows them."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(_MOST)
    except FileNotFoundError:
        return [], start
    end = data.rfind(b"\n") + 1
    entries = (_entry(path.stem, line) for line in data[:end].splitlines())
    return [entry for entry in entries if entry is not None], start + end


def _entry(task: str, line: bytes) -> Entry | None:
    """Return the entry of a line, or None for half a line, left by a full disk or a killed supervisor."""
    try:
        value = json.loads(line)
        return Entry(task=task, time=value["t"], severity=value["s"], number=value["n"], message=value["m"])
    except (ValueError, KeyError, TypeError):
        return None


def _forwards(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while file.tell() < end:
        line = file.readline()
        if not line.endswith(b"\n"):
            return
        yield line


def _backwards(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    rest = b""
    complete = False
    while end > start:
        size = min(_BLOCK, end - start)
        end -= size
        file.seek(end)
        first, *lines = (file.read(size) + rest).split(b"\n")
        for line in reversed(lines):
            if line and complete:
                yield line
            complete = True
        rest = first
    if rest and complete:
        yield rest


def _find(file: BinaryIO, since: str, end: int) -> int:
    """Return the offset of the first line whose time is `since` or later."""

    def line_from(offset: int) -> int:
        """Move to the first line that begins at `offset` or later."""
        file.seek(max(offset - 1, 0))
        if offset:
            file.readline()
        return file.tell()

    def is_late(offset: int) -> bool:
        """Return whether the first valid entry from `offset` on has that time."""
        file.seek(offset)
        while file.tell() < end:
            line = file.readline()
            if line.startswith(_HEAD):
                return line[_TIME].decode("ascii", "replace") >= since
        return True

    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if is_late(start := line_from(middle)):
            high = middle
        else:
            low = max(middle, start) + 1
    return line_from(low)
