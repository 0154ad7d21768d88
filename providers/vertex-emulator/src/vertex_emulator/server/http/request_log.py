"""The log of recent requests, in memory and without secrets."""

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
    """One answered request.

    `target` is path and query. `milliseconds` is the time until the response begins. `received` and `sent`
    are the bytes of the bodies; `sent` is None for a stream. Status 499 means that the client closed the
    connection before the response, or that an injected fault did. `call` is Google's name of the method, or
    empty. `fault` is the number of the injected fault, or None.
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
    """Return path and query without the values of secret parameters. `path` has no secret prefix."""
    if not query:
        return path
    return path + "?" + _SECRET_PARAMETERS.sub(r"\1...", query)


class RequestLog:
    """The last requests, oldest first, and the number of calls of each method since the start or `clear`.

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
        """Return the last `last` entries with a number above `after`, as JSON values."""
        with self._lock:
            kept = list(self._entries)
        selected = [entry for entry in kept if entry.number > after]
        return [
            asdict(entry)
            for entry in (selected if last is None else selected[max(len(selected) - last, 0) :])
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of calls of each method, by Google's name."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def clear(self) -> None:
        """Remove the entries and reset the counts. The numbering continues."""
        with self._lock:
            self._entries.clear()
            self._counts.clear()
