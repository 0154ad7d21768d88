"""Finds the handler of a request among the routes of all services."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from vertex_emulator.http.messages import ErrorForm, Handler, HttpError, Route, google_error

ANY_METHOD = "*"
"""As the method of a route: any method that no earlier route of that path takes."""


class Found(NamedTuple):
    """The handler of a request, its pattern's match, and its route's call and form of errors."""

    handler: Handler
    match: re.Match[str]
    call: str
    error_form: ErrorForm


class Router:
    """Routes in the order given; the first whose method and pattern fit answers."""

    def __init__(self, routes: Iterable[Route]) -> None:
        compiled = [(route.method, re.compile(route.pattern), route) for route in routes]
        self._routes = [(method, pattern, route.error_form) for method, pattern, route in compiled]
        methods = {method for method, _, _ in compiled}
        self._by_method = {
            method: [(p, r) for m, p, r in compiled if m in (method, ANY_METHOD)] for method in methods
        }
        self._any = [(p, r) for m, p, r in compiled if m == ANY_METHOD]

    def find(self, method: str, path: str) -> Found:
        """Return what answers. Raises `HttpError` 404, or 405 where another method fits."""
        for pattern, route in self._by_method.get(method, self._any):
            if match := pattern.fullmatch(path):
                return Found(route.handler, match, route.call, route.error_form)
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

    def error_form(self, path: str) -> ErrorForm:
        """Return the form of the errors at a path, whatever the method."""
        forms = (form for _, pattern, form in self._routes if pattern.fullmatch(path))
        return next(forms, google_error)
