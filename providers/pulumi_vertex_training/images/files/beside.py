"""Work on a stream of bytes beside the thread that makes it: hashing and writing let other threads run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final

_BATCH: Final = 1 << 20
_WAITING: Final = 2
"""Batches; with `_BATCH` it bounds the memory."""


class Beside:
    """Calls `consume` with every chunk that is put, in their order, in a thread of its own.

    Used in a `with`; all chunks are consumed when that ends without an exception. What `consume` raises is
    raised by a later `put` or there. What is less than a batch needs no thread.
    """

    def __init__(self, consume: Callable[[bytes], object]) -> None:
        self._consume = consume
        self._batch: list[bytes] = []
        self._size = 0
        self._waiting: deque[Future[None]] = deque()
        self._executor = ThreadPoolExecutor(max_workers=1)

    def put(self, chunk: bytes) -> None:
        """Takes the next chunk, and waits when too many do."""
        self._batch.append(chunk)
        self._size += len(chunk)
        if self._size >= _BATCH:
            if len(self._waiting) == _WAITING:
                self._waiting.popleft().result()
            self._waiting.append(self._executor.submit(self._consume_all, self._batch))
            self._batch, self._size = [], 0

    def _consume_all(self, batch: list[bytes]) -> None:
        for chunk in batch:
            self._consume(chunk)

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                while self._waiting:
                    self._waiting.popleft().result()
                self._consume_all(self._batch)
        finally:
            self._executor.shutdown(cancel_futures=True)
