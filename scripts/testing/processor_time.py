"""The processor time of this process and of all that it starts, detached processes too.

A control group counts them all. Where none can be made, the times of this process and of the children that it
has waited for are counted, which leaves out emulators and supervisors.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Meter:
    """A count of processor seconds; `source` says what it counts."""

    source: str
    seconds: Callable[[], float]


def own_meter(name: str) -> Meter:
    """Move this process into a control group of its own, and return its meter.

    `name` must be unique on the machine. The caller of the tests removes the group (`remove`).
    """
    for parent, read in ((_version_1(), _nanoseconds), (_version_2(), _usage)):
        if parent is None:
            continue
        group = parent / name
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            read(group)
        except OSError:
            continue
        return Meter("control group", lambda group=group, read=read: read(group))  # type: ignore[misc]
    return Meter("this process and its children", _own)


def remove(name: str) -> list[str]:
    """Remove the control group of that name. Return the command lines of processes that still run in it."""
    for parent in (_version_1(), _version_2()):
        if parent is None or not (parent / name).is_dir():
            continue
        left = [_leave(pid, parent) for pid in (parent / name / "cgroup.procs").read_text().split()]
        with contextlib.suppress(OSError):
            (parent / name).rmdir()
        return [line for line in left if line]
    return []


def _leave(pid: str, parent: Path) -> str:
    """Move a process out of its group. Return its command line, or "" if it has ended."""
    try:
        (parent / "cgroup.procs").write_text(pid)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return f"{pid} {b' '.join(words).decode(errors='replace')}".strip()


def _version_1() -> Path | None:
    group = Path("/sys/fs/cgroup/cpuacct")
    return group if (group / "cpuacct.usage").exists() else None


def _version_2() -> Path | None:
    try:
        own = re.search(r"^0::(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    except OSError:
        return None
    group = Path(f"/sys/fs/cgroup{own[1]}" if own else "/nowhere")
    return group if (group / "cpu.stat").exists() else None


def _nanoseconds(group: Path) -> float:
    return int((group / "cpuacct.usage").read_text()) / 1e9


def _usage(group: Path) -> float:
    return int((group / "cpu.stat").read_text().split()[1]) / 1e6


def _own() -> float:
    return sum(os.times()[:4])
