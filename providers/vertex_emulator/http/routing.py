"""Finds the handler of a request among the routes of all services."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from vertex_emulator.http.messages import Handler, HttpError, Route

ANY_METHOD = "*"
"""As the method of a route: any method that no earlier route of that path takes."""


class Found(NamedTuple):
    """What answers a request: the handler, its pattern's match, and Google's name of the call."""

    handler: Handler
    match: re.Match[str]
    call: str


class Router:
    """Routes in the order given; the first whose method and pattern fit answers."""

    def __init__(self, routes: Iterable[Route]) -> None:
        compiled = [(route.method, re.compile(route.pattern), route) for route in routes]
        self._routes = [(method, pattern) for method, pattern, _ in compiled]
        methods = {method for method, _, _ in compiled}
        self._by_method = {
            method: [(p, r.handler, r.call) for m, p, r in compiled if m in (method, ANY_METHOD)]
            for method in methods
        }
        self._any = [(p, r.handler, r.call) for m, p, r in compiled if m == ANY_METHOD]

    def find(self, method: str, path: str) -> Found:
        """What answers. Raises `HttpError` 404, or 405 where another method fits."""
        for pattern, handler, call in self._by_method.get(method, self._any):
            if match := pattern.fullmatch(path):
                return Found(handler, match, call)
        allowed = sorted({m for m, pattern in self._routes if pattern.fullmatch(path)})
        if allowed:
            raise HttpError(
                405,
                "",
                f"{path} answers {', '.join(allowed)}, not {method}.",
                headers={"Allow": ", ".join(allowed)},
            )
        raise HttpError(
            404,
            "",
            f"The emulator has no {method} {path}. GET /_local/info lists the services that it has.",
        )
