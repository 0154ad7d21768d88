"""Pages are read once for all who look, and again after a change, from the emulator that runs now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import Page
from pulumi_vertex_training.ui.server.feed import AGAIN_SECONDS, LIVE_SECONDS, SHARE, Feed
from pulumi_vertex_training.ui.source.source import KNOWN_SECONDS, Source
from pulumi_vertex_training.views.target import Choice
from vertex_training.command_line.errors import CommandError

ONE, OTHER = (
    Endpoint(
        kind="emulator", project="local", location="us-central1", url=f"http://127.0.0.1:{port}", token="t"
    )
    for port in (1, 2)
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Emulator:
    """An emulator whose reads a test counts; each costs `cost` seconds of the clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.reads: list[Mapping[str, str]] = []
        self.version: int | None = None
        self.cost = 0.0
        self.endpoint: Endpoint | None = ONE

    def resolve(self, _choice: Choice) -> Endpoint:
        if self.endpoint is None:
            raise CommandError("The emulator is not running.")
        return self.endpoint

    def read(self, _endpoint: Endpoint, parameters: Mapping[str, str]) -> int:
        self.reads.append(parameters)
        self.clock.now += self.cost
        return len(self.reads)

    def page(self, *, versioned: bool = False, over: bool = False) -> Page:
        return Page(
            name="page",
            path="/pages/{name}",
            template="",
            title=str,
            read=self.read,
            parts=lambda _model: {},
            version=(lambda _endpoint: self.version) if versioned else None,
            is_over=lambda _model: over,
        )

    def source(self) -> Source:
        return Source(Choice(), resolve=self.resolve, clock=self.clock)

    def feed(self) -> Feed:
        return Feed(self.source(), clock=self.clock, ahead=lambda _: 0.0)


def test_one_read_serves_all_who_look_at_the_same_time() -> None:
    emulator = Emulator()
    feed, page = emulator.feed(), emulator.page()

    async def look() -> list[Any]:
        return await asyncio.gather(*(feed.look(page, {"name": "a", "replica": str(i)}) for i in range(9)))

    assert {snapshot.model for snapshot in asyncio.run(look())} == {1}
    emulator.clock.now += LIVE_SECONDS
    assert asyncio.run(feed.look(page, {"name": "a"})).model == 2
    assert asyncio.run(feed.look(page, {"name": "b"})).model == 3


def test_a_page_is_read_again_if_its_version_differs_or_is_old() -> None:
    emulator = Emulator()
    feed, page = emulator.feed(), emulator.page(versioned=True)
    models = []
    for version, seconds in ((1, 0.0), (1, 1.0), (2, 1.0), (2, 1.0), (2, AGAIN_SECONDS), (2, 1.0)):
        emulator.version = version
        emulator.clock.now += seconds
        models.append(asyncio.run(feed.look(page, {"name": "a"})).model)
    assert models == [1, 1, 2, 2, 3, 3]


def test_what_is_expensive_or_over_is_read_less_often() -> None:
    emulator = Emulator()
    for over, cost, rest in ((False, 0.0, LIVE_SECONDS), (False, 1.0, SHARE), (True, 0.0, 2.0)):
        emulator.cost = cost
        feed, page = emulator.feed(), emulator.page(over=over)
        asyncio.run(feed.look(page, {"name": "a"}))
        assert feed.rest(page, {"name": "a"}) == rest


def test_an_emulator_that_was_started_again_is_found() -> None:
    emulator = Emulator()
    source = emulator.source()
    assert source.endpoint() == ONE
    emulator.endpoint = OTHER
    assert source.endpoint() == ONE, "known for a moment"
    emulator.clock.now += KNOWN_SECONDS
    assert source.endpoint() == OTHER
    emulator.endpoint = None
    emulator.clock.now += KNOWN_SECONDS
    for _ in range(2):
        try:
            source.endpoint()
        except CommandError:
            continue
        raise AssertionError("it is not running")
    emulator.endpoint = ONE
    assert source.endpoint() == ONE, "looked up at once if it was not running"
