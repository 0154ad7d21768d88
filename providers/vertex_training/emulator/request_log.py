"""What was asked of the emulator lately, in memory, with no secret in it."""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 2000
_SECRET_PARAMETERS = re.compile(r"((?:^|[?&])(?:upload_id|key|access_token|token)=)[^&]*")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request that is answered.

    `target` is path and query, `milliseconds` until the answer begins, `received` and `sent` the bytes of the
    bodies; `sent` is None for a stream. Status 499: the client went away before there was an answer.
    """

    number: int
    time: str
    method: str
    target: str
    status: int
    milliseconds: float
    received: int
    sent: int | None
    client: str


def without_secrets(path: str, query: str) -> str:
    """Path (already without the storage prefix) and query with the values of secret parameters left out."""
    if not query:
        return path
    return path + "?" + _SECRET_PARAMETERS.sub(r"\1...", query)


class RequestLog:
    """The last requests, oldest first. The numbers of entries count all requests since the start."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._entries: deque[Entry] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._number = 0

    def add(
        self,
        *,
        time: str,
        method: str,
        target: str,
        status: int,
        milliseconds: float,
        received: int,
        sent: int | None,
        client: str,
    ) -> None:
        with self._lock:
            self._number += 1
            self._entries.append(
                Entry(
                    number=self._number,
                    time=time,
                    method=method,
                    target=target,
                    status=status,
                    milliseconds=round(milliseconds, 3),
                    received=received,
                    sent=sent,
                    client=client,
                )
            )

    def entries(self, *, after: int = 0) -> list[dict[str, Any]]:
        """The kept entries with a number above `after`, as JSON values."""
        with self._lock:
            found = list(self._entries)
        return [asdict(entry) for entry in found if entry.number > after]
