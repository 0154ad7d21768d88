"""Reads the file in which a program reports its metrics, as written by the package `cloudml-hypertune`.

Each line is a JSON object: `timestamp` in seconds, `trial`, `global_step`, `checkpoint_path`, and the
metric's name with its value. All but the timestamp are strings. The package keeps the last 100 lines and
rewrites the file with each report, so a reader may find it empty or with an incomplete line. Other programs
append. The file is written by the user's program, so nothing in it is trusted.
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
"""Limit for the bytes that are read, from the end of the file."""

MAX_LINE = 16_384
KEPT_LINES = 2_000
"""Limit for the lines that are read and whose digests are kept, the last ones."""

_OWN_KEYS = frozenset({"timestamp", "trial", "global_step", "checkpoint_path"})
_MAX_STEP = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A metric of one line. `timestamp` is by the machine's clock, or None if it is not a number."""

    metric: str
    value: float
    step: int
    timestamp: float | None


@dataclass(frozen=True)
class Stamp:
    """Attributes of a file that change when it is written."""

    inode: int
    size: int
    modified: int


def stamp(path: Path) -> Stamp | None:
    """Return the stamp of a regular file, or None for anything else."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def read_lines(path: Path, *, complete: bool) -> list[bytes]:
    """Return the lines at the end of the file, without line feeds.

    An unterminated last line is included if the file is `complete`. The result is empty for anything but a
    regular file, such as a link or a pipe.
    """
    try:
        end = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        status = os.fstat(end)
        if not stat.S_ISREG(status.st_mode):
            return []
        start = max(status.st_size - MAX_BYTES, 0)
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
    """The lines that were read so far, as short digests; of a long file those at its end."""

    digests: tuple[str, ...] = ()

    def new(self, lines: Sequence[bytes]) -> tuple[list[bytes], Seen]:
        """Return the new lines among `lines`, and the state after reading them.

        The new lines begin after the longest overlap of the lines that were read before with `lines`.
        """
        digests = tuple(hashlib.blake2b(line, digest_size=6).hexdigest() for line in lines)
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
        """Return the digests as JSON."""
        return json.dumps(self.digests, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Seen:
        """Return the reverse of `to_json`."""
        return cls(tuple(json.loads(text)))


def entries(lines: Sequence[bytes]) -> Iterator[Entry]:
    """Yield the metrics of the lines. Invalid lines and values that are not finite numbers are skipped."""
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
