"""The emulator's clock. It follows the machine's clock until a user freezes, advances or scales it.

A setting maps two clocks: wall-clock time, for the times in the APIs, and the monotonic clock, for the length
of waits, so that a change of the machine's clock does not change a wait. Each map is a straight line through
one known point. The setting is the file clock.json of the data folder and is replaced as a whole. Processes
on one machine share both clocks, so each process that has read the file agrees with the emulator to the
microsecond. Supervisors read it when they wake, and the emulator wakes them after a change.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from vertex_emulator.kernel import machine_clock

FILE = "clock.json"

_LAST = 253_402_300_799_000_000
"""The last second of the year 9999, in microseconds: the latest time that the APIs can write."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the clock: `rate` seconds pass in one second of the machine; 0 is a frozen clock.

    When the machine's clock showed `wall` (microseconds since 1970), the emulator's showed `utc`. When
    `machine_clock.monotonic()` was `steady`, `seconds` had passed. Files written under this setting have a
    modification time of `files` (microseconds) or later. That is a little before `wall`, because a file
    system takes its times from the kernel's last tick.
    """

    rate: float = 1.0
    wall: int = 0
    utc: int = 0
    steady: float = 0.0
    seconds: float = 0.0
    files: int = 0

    def utc_at(self, wall: int) -> int:
        """Convert a time of the machine to the emulator's time, both in microseconds since 1970."""
        return min(self.utc + round((wall - self.wall) * self.rate), _LAST)

    def seconds_at(self, steady: float) -> float:
        """Convert a value of `machine_clock.monotonic()` to seconds of the emulator."""
        return self.seconds + (steady - self.steady) * self.rate

    def can_advance(self, by: float, *, wall: int) -> bool:
        """Return whether the APIs can still write the time `by` seconds after `wall`."""
        return self.utc_at(wall) + by * 1e6 <= _LAST

    def changed(
        self, *, wall: int, steady: float, files: int = 0, rate: float | None = None, by: float = 0.0
    ) -> Setting:
        """Return the setting from that moment on, with another rate or advanced by `by` seconds."""
        return Setting(
            rate=self.rate if rate is None else rate,
            wall=wall,
            utc=min(self.utc_at(wall) + round(by * 1e6), _LAST),
            steady=steady,
            seconds=_exact(self.seconds_at(steady)) + _exact(by),
            files=files,
        )

    def following_machine(self, *, wall: int, steady: float, files: int = 0) -> Setting:
        """Return the setting that follows the machine's time from that moment on.

        Waits that have begun neither jump nor start again.
        """
        return replace(self.changed(wall=wall, steady=steady, files=files, rate=1.0), utc=wall)


def _exact(seconds: float) -> float:
    """Round up to a multiple of 2^-20 seconds, about a microsecond, so that sums are exact.

    With rounding errors an hour in two parts could be less than an hour, and with a frozen clock a wait of an
    hour would then never end.
    """
    return math.ceil(seconds * 2**20) / 2**20


class Clock:
    """The emulator's clock in one process.

    `path` is the file of the setting; with None the clock is always the machine's.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.setting = Setting()
        self.reload()

    def reload(self) -> None:
        """Read the setting again. A damaged file changes nothing."""
        if self._path is None:
            return
        try:
            self.setting = _read(json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            self.setting = Setting()
        except (OSError, ValueError, TypeError):
            return

    def microseconds(self) -> int:
        """Return the time in microseconds since 1970."""
        return self.setting.utc_at(machine_clock.unix_nanoseconds() // 1000)

    def seconds(self) -> float:
        """Return the seconds that have passed, for the length of waits. They never decrease."""
        return self.setting.seconds_at(machine_clock.monotonic())

    def real_seconds(self, seconds: float) -> float | None:
        """Return the length of a wait on the machine's clock; None if the clock is frozen."""
        if seconds <= 0:
            return 0.0
        return seconds / self.setting.rate if self.setting.rate else None

    def steady_at(self, seconds: float) -> float | None:
        """Return the value of `machine_clock.monotonic()` at `seconds`; None if the clock is frozen."""
        left = self.real_seconds(seconds - self.seconds())
        return None if left is None else machine_clock.monotonic() + left

    def now(self) -> str:
        """Return the time as RFC 3339 in UTC with milliseconds, such as 2026-02-03T04:05:06.789Z."""
        return rfc3339(self.moment())

    def file_time(self, mtime_ns: int) -> str:
        """Return the emulator's time of a modification of a file.

        A file written before the last change of the clock has the machine's time.
        """
        wall = mtime_ns // 1000
        at = self.setting.utc_at(max(wall, self.setting.wall)) if wall >= self.setting.files else wall
        return rfc3339(datetime.fromtimestamp(at / 1e6, timezone.utc))

    def moment(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self.microseconds() / 1e6, timezone.utc)


def _read(document: Mapping[str, object]) -> Setting:
    """Read a setting. Raises `TypeError` or `ValueError` if no emulator can have written it."""
    setting = Setting(**document)  # type: ignore[arg-type]  # checked here
    for name, value in vars(setting).items():
        kinds = (int,) if name in ("wall", "utc", "files") else (int, float)
        if type(value) not in kinds or not -_LAST <= value <= _LAST:
            raise ValueError(f"{name} is {value!r}")
    if setting.rate < 0 or setting.utc < 0:
        raise ValueError("rate or utc is negative")
    return setting


def now() -> str:
    """Return the machine's time as RFC 3339, whatever the emulator's clock shows."""
    return rfc3339(datetime.now(timezone.utc))


def rfc3339(moment: datetime) -> str:
    """Format a time, which must have a time zone, as RFC 3339 in UTC with milliseconds."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
