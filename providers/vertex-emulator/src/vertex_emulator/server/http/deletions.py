"""Requests that make space: they may use the reserve of a full disk."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vertex_emulator.kernel.disk.reserve import Reserve
from vertex_emulator.server.http.messages import Handler, Request, Response, Route

_CUSTOM_METHODS = (":cancel", ":delete")


def with_reserve(reserve: Reserve, routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return the routes such that deletions and cancellations use the reserve when the disk is full."""
    return tuple(
        Route(one.method, one.pattern, _spending(reserve, one.handler), one.call, one.error_form)
        for one in routes  # `replace` takes three times as long, for each route of each emulator
    )


def _spending(reserve: Reserve, handler: Handler) -> Handler:
    def handle(request: Request, match: re.Match[str]) -> Response:
        if not _makes_room(request):
            return handler(request, match)
        with reserve.spend():
            reserve.make_room()
            return handler(request, match)

    return handle


def _makes_room(request: Request) -> bool:
    return (
        request.method == "DELETE"
        or (request.method == "POST" and "delete" in request.query)  # several objects, in the XML API
        or request.path.endswith(_CUSTOM_METHODS)
    )
