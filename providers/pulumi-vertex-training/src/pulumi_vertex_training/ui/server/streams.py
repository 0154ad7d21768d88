"""The stream of an open page, as server-sent events: parts that changed, new lines of a log, and trouble.

    event: parts    {"fragments": {id: html}, "rows": {id: {"changed": {key: html}, "order": [key, ...]}}}
    event: log      [[time, severity, replica, message], ...]
    event: trouble  "why the emulator does not answer"
    event: well     after trouble

Every event has an id with the place in the log, which the browser sends again when it reconnects.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.ui.pages.page import MissingError, Page
from pulumi_vertex_training.ui.server.feed import Feed
from pulumi_vertex_training.ui.server.rendering import Rendered
from pulumi_vertex_training.ui.server.watcher import Watcher
from pulumi_vertex_training.ui.source.log import NewLines
from vertex_emulator import machine_clock
from vertex_training.command_line.errors import CommandError

MOST_STREAMS = 100
_ALIVE_SECONDS = 15.0
_TROUBLE_SECONDS = 0.5
_STEP_SECONDS = 0.2
_AHEAD_SECONDS = 1.0
"""How far the emulator's clock has to move before an open page is told."""
_UNCHANGED_SECONDS = 2.0
"""Seconds after which a page is looked at again although the emulator reports no change."""

_KEPT = 32


class Shown:
    """The parts that first views have, by their digest, so that a stream sends only what differs."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, Rendered] = OrderedDict()

    def add(self, digest: str, parts: Rendered) -> None:
        """Record a first view."""
        self._parts[digest] = parts
        self._parts.move_to_end(digest)
        while len(self._parts) > _KEPT:
            self._parts.popitem(last=False)

    def get(self, digest: str) -> Rendered:
        """Return the parts of a first view, empty if it is not known any more."""
        return self._parts.get(digest, {})


@dataclass(kw_only=True, eq=False)
class Stream:
    """One open page.

    `sent` are the parts that the browser has, `place` is the time at which it continues the log. `is_ending`
    returns whether the dashboard is being stopped.
    """

    page: Page
    parameters: Mapping[str, str]
    feed: Feed
    watcher: Watcher
    sent: Rendered
    is_ending: Callable[[], bool]
    place: str = ""

    async def events(self) -> AsyncIterator[str]:
        """Yield events until the browser closes the page, or the dashboard is stopped."""
        lines = NewLines(self.place)
        trouble, ahead = "", math.inf
        sent_at = machine_clock.monotonic()
        yield _event("well", True, lines.time)
        while not self.is_ending():
            found: list[str] = []
            before = self.watcher.changes
            try:
                snapshot = await self.feed.look(self.page, self.parameters)
                if trouble:
                    trouble = ""
                    found.append(_event("well", True, lines.time))
                if abs(snapshot.ahead - ahead) >= _AHEAD_SECONDS:
                    ahead = snapshot.ahead
                    found.append(_event("ahead", ahead, lines.time))
                parts = await run_in_threadpool(getattr, snapshot, "rendered")
                changes, self.sent = difference(self.sent, parts), parts
                if changes:
                    found.append(_event("parts", changes, lines.time))
                if self.page.log_of is not None:
                    record = self.page.log_of(snapshot.model)
                    new = await run_in_threadpool(lines.poll, self.feed.source.endpoint(), record)
                    if rows := [(one.time, one.severity, one.replica, one.message) for one in new]:
                        found.append(_event("log", rows, lines.time))
                rest = self.feed.rest(self.page, self.parameters)
            except (CloudError, CommandError, MissingError) as error:
                rest = _TROUBLE_SECONDS
                if str(error) != trouble:
                    trouble = str(error)
                    found.append(_event("trouble", trouble, lines.time))
            if not found and machine_clock.monotonic() - sent_at >= _ALIVE_SECONDS:
                found.append(": still here\n\n")
            for event in found:
                sent_at = machine_clock.monotonic()
                yield event
            await self._pause(rest)
            if self.page.version is not None and not trouble:
                await self._pause(_UNCHANGED_SECONDS - rest, unless_changed_since=before)

    async def _pause(self, seconds: float, *, unless_changed_since: int | None = None) -> None:
        """Wait, but not beyond the end of the dashboard, nor beyond a change of the emulator."""
        until = machine_clock.monotonic() + seconds
        while (left := until - machine_clock.monotonic()) > 0 and not self.is_ending():
            if unless_changed_since is None:
                await asyncio.sleep(min(left, _STEP_SECONDS))
            elif await self.watcher.wait(unless_changed_since, min(left, _STEP_SECONDS)):
                return


def difference(old: Rendered, new: Rendered) -> dict[str, Any]:
    """Return what turns the old parts into the new ones, in the form of the event; {} for equal parts."""
    fragments: dict[str, str] = {}
    rows: dict[str, Any] = {}
    for name, html in new.items():
        before = old.get(name)
        if isinstance(html, str):
            if before != html:
                fragments[name] = html
            continue
        known = before if isinstance(before, Mapping) else {}
        changed = {key: row for key, row in html.items() if known.get(key) != row}
        order = list(html) if list(html) != list(known) else None
        if changed or order is not None:
            rows[name] = {"changed": changed, "order": order}
    return {"fragments": fragments, "rows": rows} if fragments or rows else {}


def _event(name: str, value: object, place: str) -> str:
    """Return an event. JSON has no line ends, which would end it early."""
    return f"id: {place or '-'}\nevent: {name}\ndata: {json.dumps(value)}\n\n"
