"""Take pictures of twelve states of the dashboard, and compare their outlines: `make screenshots`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parents[1]), str(ROOT)]

from playwright.sync_api import Browser, Page, expect  # noqa: E402

from support.client.ui import everything as scenes  # noqa: E402
from support.client.ui import experiments, stage, states  # noqa: E402
from support.client.ui.outlines import OUTLINES, differing, opened, outlines, written  # noqa: E402
from support.emulated.ui.dashboard import Dashboard, running  # noqa: E402
from support.emulated.ui.scene import Scene  # noqa: E402
from support.ui import browser as browsers  # noqa: E402
from support.ui.browser import WIDE, Scheme, visit  # noqa: E402
from vertex_emulator.client import launcher  # noqa: E402
from vertex_emulator.daemon import reset  # noqa: E402

PICTURES = ROOT / ".local" / "screenshots"
DOCS = ROOT / "docs" / "pictures"
IN_DOCS: tuple[tuple[str, str, Scheme], ...] = (
    ("overview", "", "light"),
    ("job", "jobs/{running}", "light"),
    ("job-dark", "jobs/{running}", "dark"),
    ("job-small", "jobs/{running}", "light"),
    ("job-small-dark", "jobs/{running}", "dark"),
    ("tuning", "jobs/{tuning}", "light"),
    ("experiment", "experiments/digits", "light"),
)
"""The pictures that the guide and the README show."""

FIRST_SCREEN = {"job": WIDE, "job-dark": WIDE, "job-small": (960, 478), "job-small-dark": (960, 478)}
"""The pictures that show the first screen, not the whole page, and its size. Small ones have no header."""


def main(arguments: list[str]) -> int:
    """Write the pictures. Return 1 if an outline differs from the accepted one."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="keep the outlines as the expected ones")
    parser.add_argument(
        "--docs", action="store_true", help="write the pictures of the guide in docs/, instead"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = Path(temporary, "emulator")
        try:
            scene = Scene(launcher.ensure(data_dir))
            keys = _stage(scene) if options.docs else states.make(scene)
            with (
                running("--data-dir", str(data_dir)) as dashboard,
                browsers.running(browsers.found()) as browser,
            ):
                if options.docs:
                    _take_for_docs(browser, dashboard, keys)
                    return 0
                found = _take(browser, dashboard, keys)
        finally:
            reset.reset(data_dir)
    if options.accept:
        OUTLINES.write_text(written(found))
        return 0
    differences = list(differing(json.loads(OUTLINES.read_text()), found))
    sys.stdout.writelines(f"{line}\n" for line in differences)
    if differences:
        sys.stdout.write("To accept these outlines: make screenshots ARGS=--accept\n")
    return 1 if differences else 0


def _take(browser: Browser, dashboard: Dashboard, keys: Mapping[str, str]) -> dict[str, dict[str, list[int]]]:
    """Write a picture of each state, width and scheme into .local. Return the outlines."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    found = {}
    for scheme in get_args(Scheme):
        with visit(browser, dashboard.url, dashboard.host, scheme=scheme) as seen:
            for state in states.STATES:
                opened(seen.page, dashboard, state, keys)
                for name, one in outlines(seen.page, state, scheme, pictures=PICTURES):
                    found[name] = one
            assert seen.problems == [], seen.problems
    return found


def _stage(scene: Scene) -> dict[str, str]:
    """Make what the pictures of the docs show. Return the keys of its jobs."""
    scene.bucket("flags")
    scenes.make_objects(scene, many=0)
    scenes.make_resources(scene)
    team = stage.make(scene)
    experiments.make(scene, hostile=False)
    return {"running": team.live, "tuning": team.tuning}


def _take_for_docs(browser: Browser, dashboard: Dashboard, keys: Mapping[str, str]) -> None:
    for name, path, scheme in IN_DOCS:
        with visit(
            browser, dashboard.url, dashboard.host, scheme=scheme, size=FIRST_SCREEN.get(name, WIDE)
        ) as seen:
            seen.page.goto(f"http://{dashboard.host}/{path.format(**keys)}")
            _settled(seen.page)
            if "small" in name:
                seen.page.evaluate("scrollTo(0, document.querySelector('header').offsetHeight)")
            seen.page.screenshot(path=DOCS / f"{name}.png", full_page=name not in FIRST_SCREEN)
            assert seen.problems == [], seen.problems


def _settled(page: Page) -> None:
    if page.locator("html[data-live]").count():
        expect(page.locator("html[data-connection=open]")).to_have_count(1)
    if page.locator("#state .running").count():
        expect(page.locator("#usage figure")).to_have_count(2)
        page.wait_for_timeout(15000)  # for some points of the curves
        expect(page.locator("#log")).to_contain_text("epoch")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
