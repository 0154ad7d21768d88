"""The emulator's own paths, below /_local."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.http.auth import HEALTH
from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.http.request_log import RequestLog

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
            Route("DELETE", "/_local/requests", self._forget_requests),
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
        after = _number(request, "after", "0", "the number of a request")
        last = None
        if request.parameter("last") is not None:
            last = _number(request, "last", "", "a number of requests")
        entries = self.requests.entries(after=after, last=last)
        return json_response({"requests": entries, "counts": self.requests.counts()})

    def _forget_requests(self, _request: Request, _: re.Match[str]) -> Response:
        self.requests.clear()
        return json_response({})

    def _shutdown(self, _request: Request, _: re.Match[str]) -> Response:
        self.shut_down()
        return json_response({"status": "stopping"})


def _number(request: Request, name: str, default: str, what: str) -> int:
    given = request.parameter(name, default) or ""
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise HttpError(400, "", f"{name} has to be {what}, not {given!r}.")
    return int(given)
