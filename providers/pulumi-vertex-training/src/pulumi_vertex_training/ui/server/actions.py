"""Actions of open pages: POST requests with the token of the page, which no other page can know.

`access` has checked host, origin and cookie. The answer is JSON: `text`, and `job` or `ahead` where they are.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.ui.pages.compare.page import is_key
from pulumi_vertex_training.ui.server.access import ACTIONS, same
from pulumi_vertex_training.ui.source import actions
from pulumi_vertex_training.ui.source.actions import Done
from pulumi_vertex_training.ui.source.source import Source
from vertex_training.command_line.errors import CommandError
from vertex_training.findings.words import visible

HEADER = "X-Page-Token"
_MOST_BYTES = 4096

Action = Callable[[Endpoint, str, str], Done]
"""Carries out an action for the key of a job and a chosen value, such as the name of a replica."""

_OF_JOBS: dict[str, Action] = {
    "cancel": lambda endpoint, key, _value: actions.cancel(endpoint, key),
    "again": lambda endpoint, key, _value: actions.run_again(endpoint, key),
    "kill": actions.kill,
    "preempt": actions.preempt,
}


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The permission to act, with the token that pages have. `on_emulator` allows the emulator's controls."""

    token: str
    on_emulator: bool


def allowed(*, on_emulator: bool) -> Allowed:
    """Return a permission with a new token."""
    return Allowed(token=secrets.token_urlsafe(32), on_emulator=on_emulator)


def routes(source: Source, permission: Allowed | None) -> list[Route]:
    """Return the routes of actions; without a permission they refuse."""

    async def of_job(request: Request) -> Response:
        key = f"{request.path_params['collection']}/{request.path_params['job_id']}"
        action = _OF_JOBS.get(str(request.path_params["action"]))
        if action is None or not is_key(key):
            return _answer("There is no such action.", status=404)
        return await _carry_out(request, lambda endpoint, value: action(endpoint, key, value))

    async def clock(request: Request) -> Response:
        return await _carry_out(request, actions.advance_clock)

    async def _carry_out(request: Request, act: Callable[[Endpoint, str], Done]) -> Response:
        if permission is None:
            return _answer("This dashboard only shows. Start it with --allow-actions to act.", status=403)
        if not same(request.headers.get(HEADER, ""), permission.token):
            return _answer("The page is of an earlier start of the dashboard. Load it again.", status=403)
        value = await _value(request)
        if value is None:
            return _answer("The request is not valid.", status=400)

        def carry_out() -> Done:
            return act(source.endpoint(), value)

        try:
            done = await run_in_threadpool(carry_out)
        except (CloudError, CommandError) as error:
            return _answer(str(error), status=409)
        return JSONResponse({"text": visible(done.text), "job": done.job, "ahead": done.ahead})

    return [
        Route(ACTIONS + "jobs/{collection}/{job_id}/{action}", of_job, methods=["POST"]),
        Route(ACTIONS + "clock", clock, methods=["POST"]),
    ]


async def _value(request: Request) -> str | None:
    """Return the chosen value in the body, or None for a body that is not valid."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = document.get("value", "") if isinstance(document, dict) else None
    return value if isinstance(value, str) else None


def _answer(text: str, *, status: int) -> Response:
    return JSONResponse({"text": visible(text)}, status_code=status)
