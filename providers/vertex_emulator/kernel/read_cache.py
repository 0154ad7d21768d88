"""A cache of what was read from the database, which forgets everything at the next commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from vertex_emulator.kernel.database import Database

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ReadCache(Generic[K, V]):
    """Values that follow from their key and the committed state of the database. Safe for threads.

    `size` estimates the bytes of a value. The oldest values leave so that all are at most `most` bytes.
    """

    def __init__(self, database: Database, *, size: Callable[[V], int], most: int) -> None:
        self._database = database
        self._size = size
        self._most = most
        self._lock = threading.Lock()
        self._commits = -1
        self._values: dict[K, V] = {}
        self._total = 0

    def get(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of a key, which is `read()` if it is not known. Nobody may change the value."""
        with self._lock:
            commits = self._database.commits
            if commits != self._commits:
                self._values.clear()
                self._commits, self._total = commits, 0
            elif (known := self._values.get(key)) is not None:
                return known
        value = read()
        size = self._size(value)
        with self._lock:
            if self._commits == commits and size <= self._most and key not in self._values:
                self._values[key] = value
                self._total += size
                while self._total > self._most:
                    self._total -= self._size(self._values.pop(next(iter(self._values))))
        return value
