"""Debian's Chromium, driven by Playwright, for tests and pictures of the dashboard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from scripts.tools import client_tools
from support.waiting import TIMEOUT

Scheme = Literal["light", "dark"]
WIDE, NARROW = (1280, 860), (360, 740)

_AS_ROOT = ["--no-sandbox"]
"""Chromium needs it as root. The pages are the dashboard's own, which loads nothing from elsewhere."""


def found() -> str:
    """Return the path of the browser. Without it skip the test, or fail in continuous integration."""
    path = client_tools.browser()
    if path is None:
        message = "Chromium is not installed. `make tools` installs it."
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        raise AssertionError
    return path


@contextmanager
def running(path: str) -> Iterator[Browser]:
    """Run the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_AS_ROOT if os.geteuid() == 0 else [])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page that a test looks at, with what went wrong in it: errors of scripts, refusals of the policy, and
    requests to other hosts.
    """

    def __init__(self, page: Page, host: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda one: self.problems.append(one.text) if one.type == "error" else None)
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

        def check(route: Route) -> None:
            if route.request.url.startswith(f"http://{host}/"):
                route.continue_()
            else:
                self.problems.append(route.request.url)
                route.abort()

        page.route("**/*", check)


@contextmanager
def visit(
    browser: Browser, url: str, host: str, *, scheme: Scheme = "light", size: tuple[int, int] = WIDE
) -> Iterator[Visit]:
    """Open the address with the token in a fresh browser session."""
    context = browser.new_context(
        color_scheme=scheme,
        viewport={"width": size[0], "height": size[1]},
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-GB",
    )
    context.set_default_timeout(TIMEOUT * 1000)
    try:
        seen = Visit(context.new_page(), host)
        seen.page.goto(url)
        yield seen
    finally:
        context.close()
