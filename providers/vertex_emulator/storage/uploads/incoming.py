"""An upload on its way: bytes go to a file outside all buckets, which becomes an object when it is complete.

Files are not flushed to the disk by force: what was stored survives the death of any process, while a power
failure may take the last seconds.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from vertex_emulator.storage.disk.checksums import Checksums
from vertex_emulator.storage.disk.files import state_of
from vertex_emulator.storage.disk.records import FileState


class Incoming:
    """A file being written, with its checksums. Leaving the block removes it unless it was `taken`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sums = Checksums()
        self.taken = False
        self._file: BinaryIO = path.open("xb", buffering=0)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.sums.update(data)

    def finish(self) -> FileState:
        """No more bytes will come."""
        state = state_of(self._file)
        self._file.close()
        return state

    def __enter__(self) -> Incoming:
        return self

    def __exit__(
        self, _: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()
        if not self.taken:
            self.path.unlink(missing_ok=True)
