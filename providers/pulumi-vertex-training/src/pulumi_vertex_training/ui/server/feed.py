"""Read pages from the emulator in threads: once for all who look at the same page, and not too often."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from starlette.concurrency import run_in_threadpool

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import Page, Part
from pulumi_vertex_training.ui.server import rendering
from pulumi_vertex_training.ui.server.rendering import Rendered
from pulumi_vertex_training.ui.source.source import Source
from vertex_emulator import machine_clock

LIVE_SECONDS = 0.15
"""Seconds between two looks at what is live."""

OVER_SECONDS = 2.0
"""Seconds between two looks at a job that has ended."""

AGAIN_SECONDS = 5.0
"""Seconds after which a page is read again even if its version is the same."""

GOOGLE_SECONDS = 10.0
"""Seconds between two looks at Google Cloud, which counts requests."""

SHARE = 4
"""A lookup that took a second is repeated after this many seconds at the earliest."""

FIRST_ROWS = 100
"""Rows of each table that a first view has. The stream sends the others as soon as the page is open."""

_KEPT = 64
"""Pages whose last state is kept."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A page at one time: its model, and its parts.

    `first` is the HTML of the parts with the first rows of each table, as a first view has it. `version` is
    the page's before it was read, `at` is when it was read, in the seconds of the clock. `ahead` are the
    seconds by which the emulator's clock is ahead of the machine's.
    """

    model: Any
    parts: Mapping[str, Part]
    first: Rendered
    version: Hashable
    at: float
    ahead: float

    @cached_property
    def rendered(self) -> Rendered:
        """The HTML of the parts with all rows, made when a stream asks for it."""
        return rendering.rendered(self.parts)


@dataclass(kw_only=True)
class _Known:
    """The last snapshot of a page; `cost` are the seconds that it took, `at` is when it was finished."""

    snapshot: Snapshot | None = None
    at: float = float("-inf")
    cost: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Feed:
    """The current state of pages, for the first view and for the streams."""

    def __init__(
        self,
        source: Source,
        *,
        clock: Callable[[], float] = machine_clock.monotonic,
        ahead: Callable[[Endpoint], float] = emulator_api.clock_ahead,
    ) -> None:
        self.source = source
        self._clock = clock
        self._ahead = ahead
        self._known: OrderedDict[tuple[str, tuple[tuple[str, str], ...]], _Known] = OrderedDict()

    async def look(self, page: Page, parameters: Mapping[str, str]) -> Snapshot:
        """Return a page as it is now, read at most a moment ago.

        Raises the errors of `Page.read`, and CommandError while the emulator is not running.
        """
        known = self._of(page, parameters)
        async with known.lock:
            if known.snapshot is None or self._clock() - known.at >= self.pause(page, known.snapshot):
                began = self._clock()
                known.snapshot = await run_in_threadpool(self._read, page, dict(parameters), known.snapshot)
                known.at = self._clock()
                known.cost = known.at - began
            return known.snapshot

    def pause(self, page: Page, snapshot: Snapshot | None) -> float:
        """Return the seconds until a page is worth another look; none if its version shows what is new."""
        if not self.source.is_emulator:
            return GOOGLE_SECONDS
        if page.version is not None:
            return 0.0
        return OVER_SECONDS if snapshot is not None and page.is_over(snapshot.model) else LIVE_SECONDS

    def rest(self, page: Page, parameters: Mapping[str, str]) -> float:
        """Return the seconds for which a stream rests after a lookup, longer if the lookup was expensive."""
        known = self._of(page, parameters)
        return max(self.pause(page, known.snapshot), SHARE * known.cost)

    def _read(self, page: Page, parameters: Mapping[str, str], last: Snapshot | None) -> Snapshot:
        """Return the page as it is now: the last snapshot, if nothing has changed since."""
        endpoint, at = self.source.endpoint(), self._clock()
        version = None
        if page.version is not None and endpoint.is_emulator:
            version = (endpoint, page.version(endpoint))
            if last is not None and last.version == version and at - last.at < AGAIN_SECONDS:
                return last
        model = page.read(endpoint, parameters)
        parts = page.parts(model)
        first = rendering.rendered(parts, rows=FIRST_ROWS)
        ahead = self._ahead(endpoint) if endpoint.is_emulator else 0.0
        return Snapshot(model=model, parts=parts, first=first, version=version, at=at, ahead=ahead)

    def _of(self, page: Page, parameters: Mapping[str, str]) -> _Known:
        """Return what is known of a page. Parameters of the query do not change its parts."""
        own = tuple(sorted((name, value) for name, value in parameters.items() if f"{{{name}}}" in page.path))
        key = (page.name, own)
        known = self._known.setdefault(key, _Known())
        self._known.move_to_end(key)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known
