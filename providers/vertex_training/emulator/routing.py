"""Finds the handler of a request among the routes of all services."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vertex_training.emulator.http import Handler, HttpError, Route

ANY_METHOD = "*"
"""As the method of a route: any method that no earlier route of that path takes."""


class Router:
    """Routes in the order given; the first whose method and pattern fit answers."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(route.method, re.compile(route.pattern), route.handler) for route in routes]
        methods = {method for method, _, _ in self._routes}
        self._by_method = {
            method: [(p, h) for m, p, h in self._routes if m in (method, ANY_METHOD)] for method in methods
        }
        self._any = [(p, h) for m, p, h in self._routes if m == ANY_METHOD]

    def find(self, method: str, path: str) -> tuple[Handler, re.Match[str]]:
        """The handler and its pattern's match. Raises `HttpError` 404, or 405 where another method fits."""
        for pattern, handler in self._by_method.get(method, self._any):
            if match := pattern.fullmatch(path):
                return handler, match
        allowed = sorted({m for m, pattern, _ in self._routes if pattern.fullmatch(path)})
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
