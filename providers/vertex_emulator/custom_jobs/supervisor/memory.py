"""Whether the kernel killed for want of memory: the count of the control group that we run in (Linux)."""

from __future__ import annotations

from pathlib import Path

_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def oom_kills(*, own_group: Path = _OWN_GROUP, groups: Path = _GROUPS) -> int:
    """How many processes of our control group (version 2) the kernel has killed for want of memory so far.

    0 where that is not told; a killed program then looks as one that somebody else killed.
    """
    try:
        lines = own_group.read_text(encoding="utf-8").splitlines()
        path = next(line for line in lines if line.startswith("0::")).removeprefix("0::")
        events = (groups / path.lstrip("/") / "memory.events").read_text(encoding="utf-8")
        return int(dict(line.split() for line in events.splitlines())["oom_kill"])
    except (OSError, StopIteration, KeyError, ValueError):
        return 0
