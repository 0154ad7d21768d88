"""Reads the file in which a program reports its metrics, as the package `cloudml-hypertune` writes it.

Each line is a JSON object: `timestamp` in seconds, `trial`, `global_step`, `checkpoint_path`, and one key
more, the metric's name with its value; all but the first are texts. The package keeps the last 100 lines and
writes the whole file anew with each report, so a reader may find it empty, or with half of a line, and older
lines go. Other programs append. The file belongs to the program: nothing in it is trusted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 262_144
"""How much of the end of a file is read."""

MAX_LINE = 16_384
KEPT_LINES = 2_000
"""How many lines are read at most, the last ones, and remembered to tell the new ones."""

_OWN_KEYS = frozenset({"timestamp", "trial", "global_step", "checkpoint_path"})
_MAX_STEP = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A metric in one line; `timestamp` by the machine's clock, None where it is no time."""

    metric: str
    value: float
    step: int
    timestamp: float | None


@dataclass(frozen=True)
class Stamp:
    """Tells whether a file has changed since it was read."""

    inode: int
    size: int
    modified: int


def stamp(path: Path) -> Stamp | None:
    """Of the file at `path`; None where there is no ordinary file."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def read_lines(path: Path, *, complete: bool) -> list[bytes]:
    """The lines at the end of the file; the last one too, where it is `complete`, without a line feed.

    Empty where there is no ordinary file, be it a link or a pipe.
    """
    try:
        end = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        found = os.fstat(end)
        if not stat.S_ISREG(found.st_mode):
            return []
        start = max(found.st_size - MAX_BYTES, 0)
        data = os.pread(end, MAX_BYTES, start)
    except OSError:
        return []
    finally:
        os.close(end)
    lines = data.split(b"\n")
    rest = lines.pop()
    if complete and rest:
        lines.append(rest)
    if start and lines:
        del lines[0]
    return [line for line in lines if line.strip()][-KEPT_LINES:]


@dataclass(frozen=True)
class Seen:
    """The lines that were read so far, as short digests; those of the end of a long file."""

    digests: tuple[str, ...] = ()

    def new(self, lines: Sequence[bytes]) -> tuple[list[bytes], Seen]:
        """Those of `lines` that were not there before, and what has been read then.

        The lines, as `read_lines` gives them, overlap with what was seen: they begin at the first place from
        which on all agree.
        """
        digests = tuple(_digest(line) for line in lines)
        seen = self.digests
        for start in range(len(seen)):
            overlap = min(len(seen) - start, len(digests))
            if seen[start : start + overlap] == digests[:overlap]:
                fresh = list(lines[overlap:])
                break
        else:
            fresh = list(lines)
        added = digests[len(digests) - len(fresh) :]
        return fresh, Seen((*seen, *added)[-KEPT_LINES:])

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.digests, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Seen:
        """The reverse of `to_json`."""
        return cls(tuple(json.loads(text)))


def entries(lines: Sequence[bytes]) -> Iterator[Entry]:
    """The metrics in the lines; what is no report, or no finite number, is left out."""
    for line in lines:
        if len(line) > MAX_LINE:
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            yield from _entries(document)


def _entries(document: dict[str, object]) -> Iterator[Entry]:
    step = _number(document.get("global_step", 0))
    timestamp = _number(document.get("timestamp"))
    for name, value in document.items():
        number = None if name in _OWN_KEYS else _number(value)
        if number is not None:
            whole = int(step) if step is not None and 0 <= step <= _MAX_STEP else 0
            yield Entry(metric=name, value=number, step=min(whole, _MAX_STEP), timestamp=timestamp)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _digest(line: bytes) -> str:
    return hashlib.blake2b(line, digest_size=6).hexdigest()
