"""The memory that this process and those that it starts may use."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_LIMITS = (  # of control groups, versions 1 and 2
    (re.compile(r"^\d+:memory:(?P<group>.*)$", re.MULTILINE), "memory{group}/memory.limit_in_bytes"),
    (re.compile(r"^0::(?P<group>.*)$", re.MULTILINE), ".{group}/memory.max"),
)


def available(*, proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that are available, at most the limit of the control group; None if unknown."""
    known = []
    with contextlib.suppress(OSError):
        known += [int(kilobytes) * 1024 for kilobytes in _AVAILABLE.findall((proc / "meminfo").read_text())]
    for name, file in _LIMITS:
        with contextlib.suppress(OSError):
            own = name.findall((proc / "self/cgroup").read_text())
            for group in (*own, ""):  # a container may see its own group as the root
                with contextlib.suppress(OSError, ValueError):  # version 2 has the word max for no limit
                    known.append(int((groups / file.format(group=group)).read_text()))
    return min(known, default=None)
