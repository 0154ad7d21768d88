"""Write the pictures of the dashboard in docs/pictures: `make screenshots`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2])]

from playwright.sync_api import Page, expect  # noqa: E402

from support.client.ui import everything as scenes  # noqa: E402
from support.client.ui import experiments, stage  # noqa: E402
from support.emulated.ui.dashboard import Dashboard, running  # noqa: E402
from support.emulated.ui.scene import Scene  # noqa: E402
from support.ui import browser as browsers  # noqa: E402
from support.ui.browser import NARROW, WIDE, Scheme, visit  # noqa: E402
from vertex_emulator.client import launcher  # noqa: E402
from vertex_emulator.daemon import reset  # noqa: E402

DOCS = HERE.parents[2] / "docs" / "pictures"
PICTURES: tuple[tuple[str, str, Scheme, tuple[int, int]], ...] = (
    ("overview", "", "light", WIDE),
    ("overview-dark", "", "dark", WIDE),
    ("overview-narrow", "", "light", NARROW),
    ("job", "jobs/{running}", "light", WIDE),
    ("job-dark", "jobs/{running}", "dark", WIDE),
    ("job-long", "jobs/{running}", "light", WIDE),
    ("job-narrow", "jobs/{running}", "light", NARROW),
    ("failed", "jobs/{failed}", "light", WIDE),
    ("replica", "jobs/{running}?replica=workerpool1-0", "light", WIDE),
    ("tuning", "tuning/{tuning}", "light", WIDE),
    ("tuning-dark", "tuning/{tuning}", "dark", WIDE),
    ("tuning-narrow", "tuning/{tuning}", "light", NARROW),
    ("compare", "compare?job={compared}&job={before}", "light", WIDE),
    ("compare-narrow", "compare?job={compared}&job={before}", "dark", NARROW),
    ("experiments", "experiments", "light", WIDE),
    ("experiments-narrow", "experiments", "dark", NARROW),
    ("experiment", "experiments/digits", "light", WIDE),
    ("experiment-dark", "experiments/digits", "dark", WIDE),
    ("experiment-narrow", "experiments/digits", "light", NARROW),
    ("resources", "resources", "light", WIDE),
    ("resources-narrow", "resources", "dark", NARROW),
    ("folder", "storage/folder?bucket=train-dev-data&prefix=digits/", "light", WIDE),
    ("object", "storage/object?bucket=train-dev-data&name=digits/model/metrics.json", "dark", WIDE),
    ("image", "images/image?uri={image}", "light", WIDE),
)
IN_DOCS = ("overview", "job", "job-dark", "tuning", "experiment")
"""The pictures that the guide and the README show; the others are to see every page (`--all FOLDER`)."""

FIRST_SCREEN = ("job", "job-dark")
"""The pictures that show the first screen, not the whole page."""


def main(arguments: list[str]) -> int:
    """Write the pictures of the guide, or with `--all` those of every page."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="write every picture into this folder")
    options = parser.parse_args(arguments)
    target: Path = options.all or DOCS
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = Path(temporary, "emulator")
        try:
            keys = _scene(Scene(launcher.ensure(data_dir)))
            with running("--data-dir", str(data_dir)) as dashboard:
                _take(dashboard, keys, target, everything=options.all is not None)
        finally:
            reset.reset(data_dir)
    return 0


def _scene(scene: Scene) -> dict[str, str]:
    """Make what the pictures show. Return the keys of its jobs."""
    scene.bucket("flags")
    scenes.make_objects(scene, many=0)
    scenes.make_resources(scene)
    team = stage.make(scene)
    experiments.make(scene, hostile=False)
    return {
        "running": team.live,
        "failed": team.failed,
        "tuning": team.tuning.partition("/")[2],
        "before": team.before,
        "compared": team.compared,
        "image": scenes.make_image(scene),
    }


def _take(dashboard: Dashboard, keys: dict[str, str], target: Path, *, everything: bool) -> None:
    with browsers.running(browsers.found()) as browser:
        for name, path, scheme, size in PICTURES:
            if not everything and name not in IN_DOCS:
                continue
            with visit(browser, dashboard.url, dashboard.host, scheme=scheme, size=size) as seen:
                seen.page.goto(f"http://{dashboard.host}/{path.format(**keys)}")
                _settled(seen.page)
                seen.page.screenshot(path=target / f"{name}.png", full_page=name not in FIRST_SCREEN)
                assert seen.problems == [], seen.problems


def _settled(page: Page) -> None:
    if page.locator("html[data-live]").count():
        expect(page.locator("html[data-connection=open]")).to_have_count(1)
    is_live = page.locator("#state .running").count() > 0
    if is_live:
        expect(page.locator("#usage figure")).to_have_count(2)
        page.wait_for_timeout(15000)  # for some points of the curves
    if page.locator("#log").count():
        expect(page.locator("#log")).to_contain_text("epoch" if is_live else "loading")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
