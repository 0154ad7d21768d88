"""Waits for changes of the emulator while pages are open, so that a change is on the page at once."""

from __future__ import annotations

import asyncio

from starlette.concurrency import run_in_threadpool

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import Changes
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.ui.source.source import Source
from vertex_training.command_line.errors import CommandError

_WAIT_SECONDS = 5
_AGAIN_SECONDS = 0.5


class Watcher:
    """One request that waits for a change, for all open pages. It ends with the last page."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._waiting: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._known: Changes | None = None
        self.changes = 0
        """Grows with each change of the emulator, and when it does not answer."""

    async def wait(self, since: int, seconds: float) -> bool:
        """Wait until `changes` is not `since` any more, or the seconds have passed. Return whether it is."""
        if self.changes != since:
            return True
        woken = asyncio.Event()
        self._waiting.add(woken)
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        try:
            await asyncio.wait_for(woken.wait(), seconds)
        except asyncio.TimeoutError:
            pass
        finally:
            self._waiting.discard(woken)
        return self.changes != since

    async def _watch(self) -> None:
        try:
            while self._waiting:
                if not await self._look():
                    await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            self._task = None

    async def _look(self) -> bool:
        """Wait for a change and report it. Return False if there is nothing to wait for."""
        try:
            endpoint = await run_in_threadpool(self._source.endpoint)
            if not endpoint.is_emulator:
                return False
            found = await run_in_threadpool(
                emulator_api.changes_after, endpoint, self._known, wait_seconds=_WAIT_SECONDS
            )
        except (CloudError, CommandError):
            self._known = None
            self._report()
            return False
        if self._known is None or (found.instance, found.number) != (
            self._known.instance,
            self._known.number,
        ):
            self._known = found
            self._report()
        return True

    def _report(self) -> None:
        self.changes += 1
        for one in self._waiting:
            one.set()
