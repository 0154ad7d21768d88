"""The emulator's own paths, below /_local."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_training.emulator.auth import HEALTH
from vertex_training.emulator.http import HttpError, Request, Response, Route, json_response
from vertex_training.emulator.request_log import RequestLog

_DIGITS = 18
_NONCE = re.compile(r"[0-9a-zA-Z_-]{16,128}")


@dataclass(frozen=True, kw_only=True)
class Admin:
    """What the admin paths tell and do.

    `prove` answers a nonce with what only a holder of the token can compute; `info` is read at each request.
    """

    version: str
    instance: str
    prove: Callable[[str], str]
    info: Callable[[], Mapping[str, Any]]
    requests: RequestLog
    shut_down: Callable[[], None]

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", re.escape(HEALTH), self._health),
            Route("GET", "/_local/info", self._info),
            Route("GET", "/_local/requests", self._requests),
            Route("POST", "/_local/shutdown", self._shutdown),
        )

    def _health(self, request: Request, _: re.Match[str]) -> Response:
        """Open to everybody on this machine: says nothing but who answers."""
        answer = {"status": "ok", "version": self.version, "instance": self.instance}
        nonce = request.parameter("nonce")
        if nonce is not None:
            if not _NONCE.fullmatch(nonce):
                raise HttpError(400, "", "nonce has to be 16 to 128 letters, digits, '-' or '_'.")
            answer["proof"] = self.prove(nonce)
        return json_response(answer)

    def _info(self, _request: Request, _: re.Match[str]) -> Response:
        return json_response(self.info())

    def _requests(self, request: Request, _: re.Match[str]) -> Response:
        after = request.parameter("after", "0") or ""
        if not (after.isascii() and after.isdigit() and len(after) <= _DIGITS):
            raise HttpError(400, "", f"after has to be the number of a request, not {after!r}.")
        return json_response({"requests": self.requests.entries(after=int(after))})

    def _shutdown(self, _request: Request, _: re.Match[str]) -> Response:
        self.shut_down()
        return json_response({"status": "stopping"})
