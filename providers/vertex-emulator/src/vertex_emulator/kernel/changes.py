"""A log of the changes of the data folder, which a reader can follow and then reads only these again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

EVERYTHING = "*"
"""The name of a change of everything, such as an import."""

OTHERS = ""
"""The name of a change of anything that has no name here, such as a bucket."""

_KEPT = 5000


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes after a number. `number` is the last change's number.

    `names` are the changed resources, each once: "customJobs/123", `OTHERS` or `EVERYTHING`. It is None if
    more has changed than is known any more.
    """

    number: int
    names: tuple[str, ...] | None


class ChangeLog:
    """The last change of each name. Safe for threads."""

    def __init__(self, *, kept: int = _KEPT) -> None:
        self._kept = kept
        self._changed = threading.Condition()
        self._number = 0
        self._forgotten = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    @property
    def number(self) -> int:
        """The number of the last change."""
        return self._number

    def add(self, names: Iterable[str]) -> None:
        """Record a change of each name, and wake those who wait."""
        with self._changed:
            for name in names:
                self._number += 1
                self._last[name] = self._number
                self._last.move_to_end(name)
            while len(self._last) > self._kept:
                _, self._forgotten = self._last.popitem(last=False)
            self._changed.notify_all()

    def after(self, number: int | None) -> Changes:
        """Return what changed after a number; without one, or with one that is not known, all did."""
        with self._changed:
            if number is None or not self._forgotten <= number <= self._number:
                return Changes(number=self._number, names=None)
            names = []
            for name, last in reversed(self._last.items()):
                if last <= number:
                    break
                names.append(name)
            return Changes(number=self._number, names=tuple(reversed(names)))

    def wait(self, number: int, seconds: float) -> None:
        """Wait until there is a change after a number, or the seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._number != number, seconds)
