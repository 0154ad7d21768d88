"""The web application: pages, their streams, the text of logs, and the style sheet and script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.ui.pages.all_pages import NAVIGATION, PAGES, tab_of
from pulumi_vertex_training.ui.pages.job.page import PATH as JOB_PATH
from pulumi_vertex_training.ui.pages.job.page import record_at
from pulumi_vertex_training.ui.pages.page import MissingError, Page
from pulumi_vertex_training.ui.server import actions, downloads, rendering, views
from pulumi_vertex_training.ui.server.access import KNOWN
from pulumi_vertex_training.ui.server.actions import Allowed
from pulumi_vertex_training.ui.server.feed import Feed
from pulumi_vertex_training.ui.server.streams import MOST_STREAMS, Shown, Stream
from pulumi_vertex_training.ui.server.watcher import Watcher
from pulumi_vertex_training.ui.source import log
from pulumi_vertex_training.ui.source.source import Source
from vertex_training.command_line.errors import CommandError

LIVE = "/live"
"""The path of a page's stream is this and the path of the page."""

_ASSETS = Path(__file__).parents[1] / "assets"

Handler = Callable[[Request], Awaitable[Response]]


class _Assets(StaticFiles):
    """Style sheets, scripts and pictures, which are sent again only if they differ.

    They alone are compressed: a page has a token beside texts of others, and its length would tell about it.
    """

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


def application(
    source: Source, *, is_ending: Callable[[], bool], permission: Allowed | None = None
) -> Starlette:
    """Return the application. It checks no access: see `access`. Without a permission it only shows.

    `is_ending` returns whether the dashboard is being stopped, which ends the streams.
    """
    feed, shown = Feed(source), Shown()
    streams = _Streams(feed=feed, shown=shown, watcher=Watcher(source), is_ending=is_ending)
    made = Starlette(
        routes=[
            *(Route(page.path, _view(page, feed, shown), methods=["GET"]) for page in PAGES),
            *(Route(f"{LIVE}{page.path}", streams.of(page), methods=["GET"]) for page in PAGES),
            Route(f"{JOB_PATH}/log.txt", _text_of_log(source), methods=["GET"]),
            *views.routes(source, _common),
            *downloads.routes(source),
            *actions.routes(source, permission),
            Mount("/assets", GZipMiddleware(_Assets(directory=_ASSETS))),
        ],
        exception_handlers={
            HTTPException: _http_error,
            MissingError: _missing,
            CloudError: _unavailable,
            CommandError: _unavailable,
        },
    )
    made.state.permission = permission
    return made


def _view(page: Page, feed: Feed, shown: Shown) -> Handler:
    """Return the handler of a page's first view."""

    async def view(request: Request) -> Response:
        parameters = _parameters(request)
        snapshot = await feed.look(page, parameters)
        seen = rendering.digest(snapshot.first)
        shown.add(seen, snapshot.first)
        values: dict[str, Any] = {
            "title": page.title(snapshot.model),
            "endpoint": snapshot.model.endpoint,
            "parts": rendering.markup(snapshot.first),
            "totals": rendering.totals(snapshot.parts),
            "live": f"{LIVE}{request.url.path}",
            "seen": seen,
            "ahead": snapshot.ahead,
            **_common(request),
            **page.fixed(snapshot.model, parameters),
        }
        if page.log_of is not None:
            record = page.log_of(snapshot.model)
            lines, place = await run_in_threadpool(log.newest, snapshot.model.endpoint, record)
            values |= {"lines": lines, "place": place}
        html = await run_in_threadpool(rendering.document, page.template, values)
        return HTMLResponse(html)

    return view


class _Streams:
    """Event-stream handlers, limited to a number of open streams."""

    def __init__(self, *, feed: Feed, shown: Shown, watcher: Watcher, is_ending: Callable[[], bool]) -> None:
        self._feed, self._shown, self._watcher, self._is_ending = feed, shown, watcher, is_ending
        self._open: set[Stream] = set()

    def of(self, page: Page) -> Handler:
        """Return the handler of a page's stream."""

        async def live(request: Request) -> Response:
            if len(self._open) >= MOST_STREAMS:
                text = "Too many pages are open. Close some of them.\n"
                return Response(text, 503, media_type="text/plain")
            again = request.headers.get("last-event-id")
            # A page that reconnects has changed since its first view, so that everything is sent again.
            seen = "" if again else request.query_params.get("seen", "")
            stream = Stream(
                page=page,
                parameters=_parameters(request),
                feed=self._feed,
                watcher=self._watcher,
                sent=self._shown.get(seen),
                is_ending=self._is_ending,
                place=log.place_in(again or request.query_params.get("after", "")),
            )
            return StreamingResponse(self._events(stream), media_type="text/event-stream")

        return live

    async def _events(self, stream: Stream) -> AsyncIterator[str]:
        self._open.add(stream)
        try:
            async for event in stream.events():
                yield event
        finally:
            self._open.discard(stream)


def _text_of_log(source: Source) -> Handler:
    """Return the handler that sends the log of a job, or of one replica, as a file."""

    async def text(request: Request) -> Response:
        parameters = _parameters(request)
        endpoint = await run_in_threadpool(source.endpoint)
        record = await run_in_threadpool(record_at, endpoint, parameters)
        replica = parameters.get("replica") or None

        def lines() -> Iterator[str]:
            try:
                yield from log.whole(endpoint, record, replica=replica)
            except CloudError as error:
                yield f"The log ends here, because it could not be read: {error}\n"

        name = f"{gateway_of(record.name).flag}-{record.job_id}.log"  # no text of others
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(lines(), media_type="text/plain; charset=utf-8", headers=headers)

    return text


def _parameters(request: Request) -> dict[str, str]:
    """Return the parameters of the path and of the query; the path's win."""
    return {**request.query_params, **{name: str(value) for name, value in request.path_params.items()}}


def _common(request: Request) -> Mapping[str, Any]:
    return {
        "pages": NAVIGATION,
        "path": request.url.path,
        "tab": tab_of(request.url.path),
        "actions": request.app.state.permission if request.scope.get(KNOWN) else None,
    }


def _message(request: Request, *, title: str, text: str, status: int, again: bool) -> Response:
    values = {"title": title, "text": text, "again": again, **_common(request)}
    return HTMLResponse(rendering.document("message.html", values), status_code=status)


async def _missing(request: Request, error: Exception) -> Response:
    return _message(request, title="Not found", text=str(error), status=404, again=False)


async def _unavailable(request: Request, error: Exception) -> Response:
    return _message(request, title="No answer", text=str(error), status=503, again=True)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = "There is no such page. The overview shows everything." if status == 404 else str(error)
    return _message(request, title="Not found", text=text, status=status, again=False)
