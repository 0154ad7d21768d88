"""A browser for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from support.ui import browser as browsers
from support.waiting import TIMEOUT


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT * 1000)
    with browsers.running(browsers.found()) as found:
        yield found
