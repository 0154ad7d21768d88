"""What time it is for the emulator: the machine's, until somebody freezes, advances or scales it.

Two lines are kept, for the time that the APIs write and for the length of waits, which nobody's setting of
the machine's clock may change. A setting is a straight line for each through one known point; it is the file
clock.json of the data folder, replaced as a whole, and as two processes on a machine have the same clocks,
whoever has read it agrees with the emulator to the microsecond. Supervisors read it when they wake, and the
emulator wakes them when it has changed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

FILE = "clock.json"

_LAST = 253_402_300_799_000_000
"""The last second of the year 9999, in microseconds: what the APIs can write."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`rate` seconds pass in one of the machine's; 0 is a clock that stands still.

    When the machine's clock had `wall` (microseconds since 1970), the emulator's had `utc`; when
    `time.monotonic()` was `steady`, `seconds` had passed. Files that were written under this setting have
    `files` or later, which is a little before `wall`: a file system takes its times from the kernel's last
    tick.
    """

    rate: float = 1.0
    wall: int = 0
    utc: int = 0
    steady: float = 0.0
    seconds: float = 0.0
    files: int = 0

    def utc_at(self, wall: int) -> int:
        """The emulator's time at one of the machine's, both in microseconds since 1970."""
        return min(self.utc + round((wall - self.wall) * self.rate), _LAST)

    def seconds_at(self, steady: float) -> float:
        """The seconds that had passed at a point of `time.monotonic()`."""
        return self.seconds + (steady - self.steady) * self.rate

    def has_left(self, by: float, *, wall: int) -> bool:
        """Whether the APIs can write the time `by` seconds after that one of the machine."""
        return self.utc_at(wall) + by * 1e6 <= _LAST

    def changed(
        self, *, wall: int, steady: float, files: int = 0, rate: float | None = None, by: float = 0.0
    ) -> Setting:
        """From that moment on another rate, and `by` seconds later at once."""
        return Setting(
            rate=self.rate if rate is None else rate,
            wall=wall,
            utc=min(self.utc_at(wall) + round(by * 1e6), _LAST),
            steady=steady,
            seconds=_exact(self.seconds_at(steady)) + _exact(by),
            files=files,
        )

    def real_again(self, *, wall: int, steady: float, files: int = 0) -> Setting:
        """The machine's time from that moment on; waits that have begun neither jump nor start anew."""
        return replace(self.changed(wall=wall, steady=steady, files=files, rate=1.0), utc=wall)


def _exact(seconds: float) -> float:
    """The next number of seconds in steps of 2^-20, about a microsecond, which adds up without rounding: else
    an hour in two parts may fall short of what is due in an hour, and a clock that stands still never gets
    there.
    """
    return math.ceil(seconds * 2**20) / 2**20


class Clock:
    """The emulator's time for one process. `path` is the file of the setting; None: never anything set."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.setting = Setting()
        self.look()

    def look(self) -> None:
        """Read the setting again. A file that is missing or spoilt counts as none."""
        if self._path is None:
            return
        try:
            self.setting = _read(json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            self.setting = Setting()
        except (OSError, ValueError, TypeError):
            return

    def microseconds(self) -> int:
        """The time in microseconds since 1970."""
        return self.setting.utc_at(time.time_ns() // 1000)

    def seconds(self) -> float:
        """Seconds that have passed, for the length of waits; it never goes back."""
        return self.setting.seconds_at(time.monotonic())

    def real_seconds(self, seconds: float) -> float | None:
        """How long such a wait takes on the machine's clock; None for ever, as the clock stands still."""
        if seconds <= 0:
            return 0.0
        return seconds / self.setting.rate if self.setting.rate else None

    def steady_at(self, seconds: float) -> float | None:
        """When so many will have passed, on `time.monotonic()`'s clock; None as for `real_seconds`."""
        left = self.real_seconds(seconds - self.seconds())
        return None if left is None else time.monotonic() + left

    def now(self) -> str:
        """This moment as RFC 3339 in UTC with milliseconds, such as 2026-02-03T04:05:06.789Z."""
        return rfc3339(self.moment())

    def of_file(self, mtime_ns: int) -> str:
        """The time of a file that a replica wrote; before the clock was set last it is the machine's."""
        wall = mtime_ns // 1000
        at = self.setting.utc_at(max(wall, self.setting.wall)) if wall >= self.setting.files else wall
        return rfc3339(datetime.fromtimestamp(at / 1e6, timezone.utc))

    def moment(self) -> datetime:
        """This moment, in UTC."""
        return datetime.fromtimestamp(self.microseconds() / 1e6, timezone.utc)


def _read(document: Mapping[str, object]) -> Setting:
    """Raises `TypeError`, `ValueError` for what no emulator has written."""
    found = Setting(**document)  # type: ignore[arg-type]  # checked here
    for name, value in vars(found).items():
        kinds = (int,) if name in ("wall", "utc", "files") else (int, float)
        if type(value) not in kinds or not -_LAST <= value <= _LAST:
            raise ValueError(f"{name} is {value!r}")
    if found.rate < 0 or found.utc < 0:
        raise ValueError("it goes back, or has never been")
    return found


def now() -> str:
    """This moment on the machine's clock, whatever the emulator's is."""
    return rfc3339(datetime.now(timezone.utc))


def rfc3339(moment: datetime) -> str:
    """`moment`, which has a time zone, as RFC 3339 in UTC with milliseconds."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
