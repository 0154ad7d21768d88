"""Calls of the emulator to its own APIs, as Google's services make them to each other.

They go through the emulator's port like those of any other client, so faults and the log of requests see
them. Their token is for the services only.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from vertex_emulator.server.proxy.hosts import is_emulated

_LARGEST_ANSWER = 8 << 20


def is_own_host(url: str) -> bool:
    """Return whether the emulator serves the API at the host of a URL."""
    parts = urlsplit(url)
    return parts.scheme == "https" and is_emulated(parts.hostname or "")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The status and the body of an answer; status 503 without one."""

    status: int
    body: bytes = b""


class Call(Protocol):
    """A function that sends a request to a URL of one of Google's APIs."""

    def __call__(
        self, method: str, url: str, *, body: bytes = b"", headers: Mapping[str, str] = ..., timeout: float
    ) -> Answer: ...


@dataclass(kw_only=True)
class OwnApi:
    """The emulator's own APIs. `address` and `token` are known once the port is open."""

    address: str = ""
    token: str = field(default="", repr=False)

    def __call__(
        self,
        method: str,
        url: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Answer:
        """Send a request, and return the answer. A failed connection answers with the status 503."""
        own, asked = urlsplit(self.address), urlsplit(url)
        connection = http.client.HTTPConnection(own.hostname or "", own.port, timeout=timeout)
        path = f"{asked.path}?{asked.query}" if asked.query else asked.path
        try:
            connection.request(
                method, path, body=body, headers={**(headers or {}), "Authorization": f"Bearer {self.token}"}
            )
            answer = connection.getresponse()
            return Answer(status=answer.status, body=answer.read(_LARGEST_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            return Answer(status=503, body=str(error).encode())
        finally:
            connection.close()
