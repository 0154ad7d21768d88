"""The machine's clock, for waits that belong to the machine: of processes, locks, connections and polling.

Users cannot change it. Times that a service of Google counts are on the emulator's clock (`clock.Clock`),
which users freeze and advance. No other module of the package calls `time`; `make check` enforces it.
"""

from __future__ import annotations

from time import monotonic, monotonic_ns, sleep, time_ns

__all__ = ["monotonic", "monotonic_ns", "sleep", "unix_nanoseconds"]


def unix_nanoseconds() -> int:
    """Return the machine's time of day, in nanoseconds since 1970."""
    return time_ns()
