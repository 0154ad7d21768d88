"""Look at the states of `support.client.ui.states` in a browser: settle each, and take its outlines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import Page, expect

from support.client.ui.states import JOBS, STATES, WIDTHS
from support.emulated.ui.dashboard import Dashboard
from support.ui.outline import Box, Outline, differences, outline, settle

OUTLINES = Path(__file__).parents[3] / "ui" / "browser" / "outlines.json"
"""The accepted outlines by state and width: `make screenshots ARGS=--accept` writes them."""

HEIGHT = 900


def opened(page: Page, dashboard: Dashboard, state: str, keys: Mapping[str, str]) -> None:
    """Open a state, and wait until all that it will have is there."""
    page.goto(f"http://{dashboard.host}/{STATES[state].format(**keys)}")
    if page.locator("html[data-live]").count():
        expect(page.locator("html[data-connection=open]")).to_have_count(1)
    if page.locator("#jobs").count():
        expect(page.locator("#jobs tr").nth(JOBS - 1)).to_be_attached()
    if state == "job-live":
        expect(page.locator("#usage figure canvas")).to_have_count(2)
        expect(page.locator("#metrics figure canvas")).to_have_count(2)
        expect(page.locator("#log")).to_contain_text("epoch 5 of 12")


def outlines(
    page: Page, state: str, scheme: str, *, pictures: Path | None = None
) -> Iterator[tuple[str, dict[str, Box]]]:
    """Yield the outline of an open state for each width, and write its picture."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        settle(page)
        page.evaluate("scrollTo(0, 0)")
        if pictures is not None:
            page.screenshot(path=pictures / f"{state}-{width}-{scheme}.png")
        yield f"{state} {width}", outline(page)


def differing(expected: Mapping[str, Outline], found: Mapping[str, Outline]) -> Iterator[str]:
    """Yield the differences of all outlines."""
    for name, one in found.items():
        yield from (f"{name}: {line}" for line in sorted(differences(expected.get(name, {}), one)))


def written(found: Mapping[str, Outline]) -> str:
    """Return the text of the file of outlines: a line for each, so that a change of one is seen as one."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in sorted(found.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
