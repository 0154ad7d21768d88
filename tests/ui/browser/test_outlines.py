"""Twelve states of the dashboard with 204 jobs and long names: outlines, cells, reasons, notices, and axe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from playwright.sync_api import Browser, Page, expect

from support.client.ui import states
from support.client.ui.outlines import HEIGHT, OUTLINES, differing, opened, outlines
from support.client.ui.states import STATES, WIDTHS
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import Scene
from support.ui.axe import COLOURS, serious
from support.ui.browser import Visit, visit
from support.ui.outline import Outline, cramped, outline, settle
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def keys(emulator: Emulator) -> Mapping[str, str]:
    return states.make(Scene(emulator))


@pytest.fixture(scope="module")
def seen(browser: Browser, dashboard: Dashboard, keys: Mapping[str, str]) -> Iterator[Visit]:
    with visit(browser, dashboard.url, dashboard.host) as found:
        yield found
        assert found.problems == [] and found.dialogs == []


@pytest.fixture(scope="module")
def expected() -> Mapping[str, Outline]:
    return json.loads(OUTLINES.read_text())


def is_font_installed() -> bool:
    """Return whether text has the widths of the accepted outlines."""
    program = shutil.which("fc-match")
    if program is None:
        return False
    return "Inter" in subprocess.run([program, "Inter"], capture_output=True, text=True, check=True).stdout


ALIKE = ("overview-none", "job-pending", "job-failed")
"""States that have no part of their own: the others have all of them."""


@pytest.mark.parametrize(
    "state", [pytest.param(each, marks=[pytest.mark.slow] if each in ALIKE else []) for each in STATES]
)
def test_a_state_has_its_outline_and_no_cell_is_cramped(
    seen: Visit, dashboard: Dashboard, keys: Mapping[str, str], expected: Mapping[str, Outline], state: str
) -> None:
    page = seen.page
    opened(page, dashboard, state, keys)
    found = {}
    for name, one in outlines(page, state, "light"):
        found[name] = one
        assert cramped(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: sideways"
        if name.endswith(str(WIDTHS[1])):  # it has the layout of the first width
            continue
        assert serious(page) == [], name
        page.emulate_media(color_scheme="dark")
        assert outline(page) == one, "a scheme changes colours alone"
        assert name.endswith(str(WIDTHS[2])) or serious(page, COLOURS) == [], f"{name}, dark"
        page.emulate_media(color_scheme="light")
    if not is_font_installed():
        message = "The font Inter is not installed. `make tools` installs it."
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    assert list(differing(expected, found)) == [], "`make screenshots ARGS=--accept` accepts these outlines"


FAULTS = {
    "#strip { display: none }": "figure is gone",
    ".result > .topology { display: none }": "pool is gone",
    ".strip { grid-template-columns: 1fr !important }": "figure 2 is",
    ".cluster { flex-direction: column }": "pool 2 is",
    "main { padding-top: 90px !important }": "h1 is",
    ".logs { grid-column: 1 / -1 !important }": "log is",
    ".curve .plot { height: 60px; min-height: 0 !important }": "plot is",
    ".head .buttons { position: absolute; left: 0 }": "button is",
    ".place { visibility: hidden }": "place is gone",
    "header { position: fixed }": "header is",
    "#log { opacity: 0 }": "log is gone",
    ".strip .figure { width: 2rem }": "cut: ",
    "h1 { color: var(--ground) }": "unseen: resnet50",
    "h1 { color: var(--line) }": "color-contrast",
}
"""Faults of a style sheet, and how each is reported."""

INSERT = """(rule) => {
    const sheet = document.styleSheets[0];
    sheet.insertRule(rule, sheet.cssRules.length);
}"""
DELETE = "document.styleSheets[0].deleteRule(document.styleSheets[0].cssRules.length - 1)"


def _faults(page: Page, before: Mapping[str, Outline]) -> Iterator[str]:
    """Yield what is reported, the slowest check last."""
    yield from differing(before, {name: outline(page) for name in before})
    yield from cramped(page)
    yield from serious(page, COLOURS)


def test_what_a_picture_would_show_is_reported(
    seen: Visit, dashboard: Dashboard, keys: Mapping[str, str]
) -> None:
    page = seen.page
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
    opened(page, dashboard, "job-live", keys)
    name = "job-live 1440"
    before = {name: outline(page)}
    assert list(differing(before, {name: outline(page)})) == [] and cramped(page) == []
    for rule, said in FAULTS.items():
        page.evaluate(INSERT, rule)
        settle(page)
        assert any(said in line for line in _faults(page, before)), rule
        page.evaluate(DELETE)
    settle(page)
    assert list(differing(before, {name: outline(page)})) == []


def test_names_that_break_are_reported(seen: Visit, dashboard: Dashboard, keys: Mapping[str, str]) -> None:
    """Repeat a fault of the table of experiments: names of two letters a line."""
    page = seen.page
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
    opened(page, dashboard, "experiment", keys)
    rule = ".runs th:first-child { min-width: 0 !important; max-width: 40px !important; width: 40px }"
    page.evaluate(INSERT, rule)
    assert any(line.startswith("narrow: sgd") for line in cramped(page))


BOTTOM_OF_THE_TWENTIETH = """
document.querySelectorAll("#jobs tr:not([hidden])")[19]?.getBoundingClientRect().bottom
"""


def test_every_pending_job_has_a_reason(seen: Visit, dashboard: Dashboard, keys: Mapping[str, str]) -> None:
    page = seen.page
    opened(page, dashboard, "overview", keys)
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
    # In one step: rows of live jobs are replaced.
    bottom = page.wait_for_function(BOTTOM_OF_THE_TWENTIETH).json_value()
    assert 0 < bottom <= HEIGHT, "twenty jobs in a screen"
    waiting = page.locator("#jobs tr[data-state=PENDING]")
    expect(waiting.nth(100)).to_be_attached()
    expect(waiting.filter(has_not_text="waits for")).to_have_count(0)
    opened(page, dashboard, "job-pending", keys)
    expect(page.locator("#facts .reason")).to_contain_text("It waits for the start delay")


def test_a_legend_of_replicas_is_not_broken(
    seen: Visit, dashboard: Dashboard, keys: Mapping[str, str]
) -> None:
    page = seen.page
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    opened(page, dashboard, "job-live", keys)
    settle(page)
    rows = page.locator("#usage .u-series")
    boxes = rows.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert len(boxes) == 2 * 9 and max(box["height"] for box in boxes) < 24, "a line for each"
    assert len({round(box["x"]) for box in boxes}) == 4, "two columns in each chart"


TWO_ROUNDS = """() => new Promise((done) => {
    let rounds = 0;
    document.addEventListener("parts", () => (rounds += 1) === 2 && done());
})"""
"""Wait for two rounds of the stream: each has the use of replicas, and then new lines of the log."""


def test_a_job_of_many_replicas_has_each_notice_once(
    seen: Visit, dashboard: Dashboard, keys: Mapping[str, str]
) -> None:
    page = seen.page
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
    for _ in range(2):  # the second time all lines are in the page, and the stream sends the last ones again
        opened(page, dashboard, "job-live", keys)
        page.evaluate(TWO_ROUNDS)
        notices = page.locator("#log li[data-severity=NOTICE] .message").all_inner_texts()
        assert any("is not run" in one for one in notices) and len(notices) == len(set(notices))
    notice = page.locator("#log li[data-severity=NOTICE]", has_text="is not run")
    line = notice.bounding_box()["height"]
    assert line < 30, "a notice is one line"
    notice.click()
    assert notice.bounding_box()["height"] >= 2 * line, "and has all its lines when it is chosen"
