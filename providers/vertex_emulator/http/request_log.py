"""What was asked of the emulator lately, in memory, with no secret in it."""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 2000
_SECRET_PARAMETERS = re.compile(
    r"((?:^|[?&])(?:upload_?id|key|access_token|token|(?:x-goog-)?signature)=)[^&]*", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request that is answered.

    `target` is path and query, `milliseconds` until the answer begins, `received` and `sent` the bytes of the
    bodies; `sent` is None for a stream. Status 499: the client went away before there was an answer, or a
    fault closed the connection. `call` is Google's name of the method, empty where it has none; `fault` the
    number of the fault that spoilt the answer.
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
    call: str = ""
    fault: int | None = None


def without_secrets(path: str, query: str) -> str:
    """Path (already without the storage prefix) and query with the values of secret parameters left out."""
    if not query:
        return path
    return path + "?" + _SECRET_PARAMETERS.sub(r"\1...", query)


class RequestLog:
    """The last requests, oldest first, and how often each method was called since the start or `clear`.

    The numbers of entries count all requests since the start.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._entries: deque[Entry] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._number = 0
        self._counts: Counter[str] = Counter()

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
        call: str = "",
        fault: int | None = None,
    ) -> None:
        with self._lock:
            self._number += 1
            if call:
                self._counts[call] += 1
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
                    call=call,
                    fault=fault,
                )
            )

    def entries(self, *, after: int = 0, last: int | None = None) -> list[dict[str, Any]]:
        """The kept entries with a number above `after`, of these the `last` ones, as JSON values."""
        with self._lock:
            kept = list(self._entries)
        found = [entry for entry in kept if entry.number > after]
        return [asdict(entry) for entry in (found if last is None else found[max(len(found) - last, 0) :])]

    def counts(self) -> dict[str, int]:
        """How often each method was called, by Google's name of it."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def clear(self) -> None:
        """Forget the entries and the counts; numbers go on."""
        with self._lock:
            self._entries.clear()
            self._counts.clear()
