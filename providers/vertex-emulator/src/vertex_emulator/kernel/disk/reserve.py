"""A file that keeps space on the disk for deletions, which write as well: records, and names of files.

Without it a full disk cannot be left from inside: the deletion of an object needs a few pages in the
database's log. The file is given up in pieces, by deletions, by the ends of jobs and by the emulator's start,
and is filled again when there is space.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from vertex_emulator.kernel.disk.disk_space import LITTLE, disk_space, free_bytes, is_out_of_space

T = TypeVar("T")

log = logging.getLogger(__name__)

_LARGEST = 8 << 20
_SMALLEST = 1 << 20
_PIECES = 8
_PART_OF_DISK = 16
_OTHERS_PART = 4
"""The reserve is filled only if this many times its size remain free for others."""
_ALL = 1.0


class Reserve:
    """The reserve at `path`. Threads spend from it only within `spend`; all of them do until `fill`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._spending = threading.local()
        self._starting = True

    @property
    def size(self) -> int:
        """The bytes that are left to give up."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    @contextmanager
    def spend(self, *, keep: float = 0.0) -> Iterator[None]:
        """Let the thread spend from the reserve within the block, except for the part `keep` of it.

        If the block fails for lack of space, more is given up, and a repetition may succeed.
        """
        before = self._kept
        self._spending.kept = min(before, keep)
        try:
            yield
        except Exception as error:
            if is_out_of_space(error):  # such as an exceeded quota, which the free bytes do not show
                self.give_up(keep=self._kept)
            raise
        finally:
            self._spending.kept = before

    def spending(self, do: Callable[[], T]) -> Callable[[], T]:
        """Return the function such that it may spend from the reserve."""

        def spend() -> T:
            with self.spend():
                return do()

        return spend

    def make_room(self) -> None:
        """Give up pieces until there is space for a deletion, if this thread may."""
        kept = self._kept
        while kept < _ALL and self._free() < LITTLE and self.give_up(keep=kept):
            pass

    @property
    def _kept(self) -> float:
        """The part of the reserve that this thread has to leave."""
        return float(getattr(self._spending, "kept", 0.0 if self._starting else _ALL))

    def give_up(self, *, keep: float = 0.0) -> bool:
        """Give up a piece, except for the part `keep` of the reserve. Return False if nothing is left."""
        with self._lock:
            left = self.size
            full = self._full_size()
            if left <= full * keep:
                return False
            try:
                os.truncate(self._path, max(left - max(full // _PIECES, 1), 0))
            except OSError:
                return False
            log.warning("The disk is full. The reserve of %d KiB is used for deletions", left >> 10)
            return True

    def fill(self) -> None:
        """Fill the reserve if there is space. The emulator has started: others no longer spend from it."""
        self._starting = False
        with self._lock:
            full, left = self._full_size(), self.size
            if left >= full or self._free() - (full - left) < _OTHERS_PART * full:
                return
            try:
                with self._path.open("ab") as file:
                    _allocate(file.fileno(), left, full - left)
            except OSError as error:
                log.info("There is no space for the reserve: %s", error)

    def _free(self) -> int:
        try:
            return free_bytes(self._path.parent)
        except OSError:
            return LITTLE

    def _full_size(self) -> int:
        try:
            total = disk_space(self._path.parent).total
        except OSError:
            total = 0
        return min(_LARGEST, max(_SMALLEST, total // _PART_OF_DISK))


def _allocate(descriptor: int, start: int, length: int) -> None:
    """Extend a file by blocks of the disk, not by a hole."""
    try:
        os.posix_fallocate(descriptor, start, length)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        os.lseek(descriptor, start, os.SEEK_SET)
        block = bytes(_SMALLEST)
        while length > 0:
            length -= os.write(descriptor, block[:length])
