"""The handlers of views, which are read once for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pulumi_vertex_training.ui.pages.all_pages import VIEWS
from pulumi_vertex_training.ui.pages.view import Query, View
from pulumi_vertex_training.ui.server import rendering
from pulumi_vertex_training.ui.source.source import Source

Common = Callable[[Request], Mapping[str, Any]]
"""Returns the values that every page has."""


def routes(source: Source, common: Common) -> list[Route]:
    """Return the routes of all views."""
    return [Route(view.path, _handler(view, source, common), methods=["GET"]) for view in VIEWS]


def query_of(request: Request) -> Query:
    """Return the query of a request."""
    return Query(pairs=tuple(request.query_params.multi_items()))


def _handler(view: View, source: Source, common: Common) -> Callable[[Request], Awaitable[Response]]:
    async def show(request: Request) -> Response:
        query = query_of(request)

        def html() -> str:
            endpoint = source.endpoint()
            model = view.read(endpoint, query)
            values = {"title": view.title(model), "endpoint": endpoint, "model": model, **common(request)}
            return rendering.document(view.template, values)

        return HTMLResponse(await run_in_threadpool(html))

    return show
