"""An event loop, as a Pulumi program has one, for each test, and no mocks for the tests after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from pulumi.runtime import settings


@pytest.fixture
def event_loop() -> Iterator[None]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(_other_tasks())  # mocks register the stack in a task
    loop.close()
    asyncio.set_event_loop(None)
    # As at the import of Pulumi; else the log of other tests goes to the mocks.
    names = ("stack", "project", "root_directory", "organization")
    settings.reset_options()
    settings.configure(settings.Settings(**{name: name for name in names}))


async def _other_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*tasks, return_exceptions=True)
