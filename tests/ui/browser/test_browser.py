"""The dashboard in a real browser: live, for keyboard and screen reader, wide and narrow, light and dark."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.emulated.job_emulator import pool
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import FLAG, Scene, owned
from support.ui.axe import serious
from support.ui.browser import NARROW, Visit, visit
from vertex_emulator.client.launcher import Emulator

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
"""A name and a line that would open a dialog if it became markup."""


EVENTS = base64.b64encode(
    (Path(__file__).parents[1] / "metrics" / "event_files" / "tensorboard.tfevents").read_bytes()
).decode()
MEASURED = f"""
import base64, json, os, time
os.makedirs("/gcs/flags/run/logs/train")
with open("/gcs/flags/run/logs/train/events.out.tfevents.1", "wb") as file:
    file.write(base64.b64decode("{EVENTS}"))
values = (1, 0.5, "NaN")
past = [{{"step": n, "metrics": {{"from the report": value}}}} for n, value in enumerate(values)]
with open("/gcs/flags/run/vertex_cluster_progress.json", "w") as file:
    json.dump({{**past[-1], "history": past}}, file)
def tuned(step):
    os.makedirs("/tmp/hypertune", exist_ok=True)
    with open("/tmp/hypertune/output.metrics", "a") as file:
        print(json.dumps({{"global_step": str(step), "tuned": step}}), file=file)
tuned(7)
while not os.path.exists("/gcs/flags/more"): time.sleep(0.05)
tuned(8)
"""
"""A program with TensorBoard logs, reports of `vertex_cluster`, and of hypertune."""


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    found = Scene(emulator)
    found.bucket("flags")
    return found


@pytest.fixture(scope="module")
def ended(scene: Scene) -> str:
    """Return the key of a failed job with a hostile name and hostile lines."""
    code = f"import sys\nprint({HOSTILE!r})\nprint('usual', file=sys.stderr)\nsys.exit({HOSTILE!r})"
    key = scene.create(pool(code), pool("", replicas=2), name=HOSTILE, labels=owned("hostile"))
    scene.wait(key, "JOB_STATE_FAILED")
    return key


@pytest.fixture
def seen(browser: Browser, dashboard: Dashboard) -> Iterator[Visit]:
    with visit(browser, dashboard.url, dashboard.host) as found:
        yield found
        assert found.problems == [] and found.dialogs == []


def test_the_token_leaves_the_address(seen: Visit, dashboard: Dashboard) -> None:
    assert seen.page.url == f"http://{dashboard.host}/"
    expect(seen.page.locator("html[data-connection=open]")).to_have_count(1)


def test_a_job_appears_runs_and_ends_while_the_page_is_open(seen: Visit, scene: Scene) -> None:
    page = seen.page
    key = scene.create(pool(FLAG.format(name="appears")), name="appears-in-the-page")
    row = page.locator(f'[id="job/{key}"]')
    expect(row).to_contain_text("running")
    page.locator(f'[id="link/job/{key}"]').focus()
    scene.raise_flag("appears")
    expect(row).to_contain_text("succeeded")
    assert page.evaluate("document.activeElement.id") == f"link/job/{key}", "the focus stays in a new row"


def test_the_log_follows_and_is_filtered(seen: Visit, scene: Scene) -> None:
    page = seen.page
    code = (
        "print('the first line', flush=True)\n"
        + FLAG.format(name="log")
        + "print('the last line', flush=True)"
    )
    key = scene.create(pool(code), name="logs")
    page.goto(page.url + f"jobs/{key}")
    expect(page.locator("#log")).to_contain_text("the first line")
    scene.raise_flag("log")
    expect(page.locator("#log")).to_contain_text("the last line")
    expect(page.locator("#state")).to_contain_text("succeeded")
    expect(page.locator("#replica-workerpool0-0")).to_contain_text("succeeded")
    expect(page.locator("#log")).to_contain_text("Job completed successfully.")  # sent after the state

    def shown() -> list[str]:
        return page.locator("#log li:not([hidden]) .message").all_text_contents()

    page.keyboard.press("/")
    page.keyboard.type("LAST line")
    expect(page.locator("#log-note")).to_contain_text("1 of")
    assert shown() == ["the last line"]
    page.locator("#log-words").fill("")
    page.locator("#log-replica").select_option("service")
    assert "Job completed successfully." in shown() and "the last line" not in shown()
    page.locator("#log-severity").select_option("ERROR")
    assert shown() == []


def test_metrics_and_use_are_drawn_live_and_are_a_table(seen: Visit, scene: Scene) -> None:
    page = seen.page
    key = scene.create(
        pool(MEASURED + FLAG.format(name="measured")),
        name="measured",
        baseOutputDirectory={"outputUriPrefix": "gs://flags/run"},
    )
    page.goto(page.url + f"jobs/{key}")
    loss = page.locator("#metrics figure", has_text="epoch_loss")
    expect(loss.locator("canvas")).to_be_visible()
    expect(loss.locator("figcaption b")).to_have_text("0.4")
    loss.locator("summary").click()
    expect(loss.locator(".scroll tbody tr")).to_have_text(["12", "21", "30.66667", "40.5", "50.4"])
    reported = page.locator("#metrics figure", has_text="from the report")
    expect(reported.locator("canvas")).to_be_visible()
    expect(reported.locator("figcaption b")).to_have_text("nan")
    expect(reported.locator(".u-legend")).to_contain_text("nan")
    reported.locator("summary").click()
    expect(reported.locator(".scroll tbody tr")).to_have_text(["01", "10.5", "2nan"])
    tuned = page.locator("#metrics figure", has_text="tuned")
    expect(tuned.locator("figcaption b")).to_have_text("7")
    expect(page.locator("#usage figure canvas")).to_have_count(2)
    assert serious(page) == []
    scene.raise_flag("more")
    expect(tuned.locator("figcaption b")).to_have_text("8")
    expect(loss.locator(".scroll tbody tr")).to_have_count(5)  # the table is still open
    scene.raise_flag("measured")
    expect(page.locator("#state")).to_contain_text("succeeded")


FIRST_SCREEN = (1440, 900)


BOTTOM = "(part) => document.querySelector(part)?.getBoundingClientRect().bottom"
"""In one step: a live page gets its parts one after the other, and replaces what a locator has found."""


def test_the_first_screen_has_state_metric_curve_and_the_end_of_the_log(
    browser: Browser, dashboard: Dashboard, scene: Scene
) -> None:
    line = "print('the end of the log', flush=True)\n"
    flag = FLAG.format(name="first-screen")
    key = scene.create(
        pool(MEASURED.replace("/run", "/screen").replace("/more", "/no-more") + line + flag),
        pool(flag, replicas=3),
        name="first-screen",
        baseOutputDirectory={"outputUriPrefix": "gs://flags/screen"},
    )
    scene.raise_flag("no-more")
    with visit(browser, dashboard.url, dashboard.host, size=FIRST_SCREEN) as seen:
        page = seen.page
        page.goto(f"{page.url}jobs/{key}")
        expect(page.locator("#strip")).to_contain_text("from the report")
        seen_first = ["#state .running", "#strip .figure", "#metrics canvas", "#log li:last-child"]
        expect(page.locator("#log li").last).to_have_text(re.compile("the end of the log|running"))
        expect(page.locator("#metrics canvas").first).to_be_visible()
        for part in seen_first:
            bottom = page.wait_for_function(BOTTOM, arg=part).json_value()
            assert 0 < bottom <= FIRST_SCREEN[1], part
        expect(page.locator("#icon")).to_have_attribute("href", "/assets/icon-running.svg")
        assert page.title().startswith("▶")
        curves, log = page.locator("#metrics").bounding_box(), page.locator("#log").bounding_box()
        assert curves is not None and log is not None and curves["x"] + curves["width"] < log["x"]
        page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        parts = ("#state", "#strip", "#metrics", "#log", "#topology", "#events-title")
        boxes = [page.locator(part).bounding_box() for part in parts]
        tops = [box["y"] for box in boxes if box is not None]
        assert len(tops) == len(parts) and tops == sorted(tops)
        scene.raise_flag("first-screen")
        expect(page.locator("#icon")).to_have_attribute("href", "/assets/icon-succeeded.svg")
        assert seen.problems == []


def test_a_narrow_tile_breaks_the_words_about_its_replicas(seen: Visit, scene: Scene) -> None:
    """Check a width at which five tiles share a row; the test adds tiles, of which a job has up to seven."""
    key = scene.create(pool(""), pool("import time\ntime.sleep(600)", replicas=3), name="narrow-tile")
    scene.wait(key)
    page = seen.page
    page.set_viewport_size({"width": 840, "height": 800})
    page.goto(f"{page.url}jobs/{key}")
    words = page.locator("#strip .under:has(.state)")
    expect(words).to_have_text("3 ended with the chief")
    assert words.evaluate(
        """(words) => {
            const tiles = words.closest(".strip");
            for (let count = 0; count < 4; count++) tiles.prepend(tiles.firstElementChild.cloneNode(true));
            return words.clientWidth < 140 && words.scrollWidth <= words.clientWidth;
        }"""
    )


def test_a_menu_closes_with_escape_and_with_a_click_elsewhere(seen: Visit, ended: str) -> None:
    page = seen.page
    page.goto(page.url + f"jobs/{ended}")
    menu = page.locator("details.menu")
    menu.locator("summary").press("Enter")
    expect(page.locator("#action-again")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#action-again")).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    page.locator("h1").click()
    expect(page.locator("#action-again")).to_be_hidden()


def test_the_first_error_of_a_log_is_one_key_away(seen: Visit, scene: Scene) -> None:
    page = seen.page
    code = (
        "import sys\nprint('the first error', file=sys.stderr, flush=True)\n"
        + FLAG.format(name="errors")
        + "for n in range(300): print('line', n, flush=True)\n"
    )
    key = scene.create(pool(code), name="errors")
    page.goto(page.url + f"jobs/{key}")
    error = page.locator("#log li", has_text="the first error")
    expect(error).to_be_visible()
    scene.raise_flag("errors")
    expect(page.locator("#log li", has_text="Job completed")).to_be_in_viewport()
    expect(error).not_to_be_in_viewport()
    expect(page.locator("#log-error")).to_be_visible()
    small = page.locator("#log").bounding_box()["height"]
    page.get_by_role("button", name="Full screen").click()
    assert page.locator("#log").bounding_box()["height"] > 1.4 * small
    page.keyboard.press("Escape")
    assert page.locator("#log").bounding_box()["height"] == small
    page.keyboard.press("e")
    expect(error).to_be_in_viewport()
    expect(page.locator("#log-follow")).not_to_be_checked()


def test_the_overview_is_searched_and_filtered(seen: Visit, scene: Scene, ended: str) -> None:
    page = seen.page
    key = scene.create(pool(""), name="another-name")
    scene.wait(key)
    expect(page.locator(f'[id="job/{key}"]')).to_contain_text("succeeded")
    page.locator("#jobs-words").fill("hostile")
    expect(page.locator(f'[id="job/{ended}"]')).to_be_visible()
    expect(page.locator(f'[id="job/{key}"]')).to_be_hidden()
    page.locator("#jobs-words").fill("")
    page.locator("#jobs-state").select_option("SUCCEEDED")
    expect(page.locator(f'[id="job/{ended}"]')).to_be_hidden()
    expect(page.locator(f'[id="job/{key}"]')).to_be_visible()
    assert page.url.endswith("?jobs-state=SUCCEEDED"), "the filter is in the address"
    page.reload()
    expect(page.locator(f'[id="job/{ended}"]')).to_be_hidden()
    counted = page.locator("[data-counts=SUCCEEDED]")
    expect(counted).to_have_attribute("aria-pressed", "true")
    counted.click()
    expect(page.locator(f'[id="job/{ended}"]')).to_be_visible()
    assert "jobs-state" not in page.url
    page.locator("#jobs-words").fill("fits nothing")
    expect(page.locator("[data-filter-note=jobs]")).to_contain_text("fits the filter")
    page.get_by_role("button", name="Clear filter").click()
    expect(page.locator(f'[id="job/{key}"]')).to_be_visible()
    assert "jobs-words" not in page.url
    expect(page.get_by_role("button", name="Clear filter")).to_be_hidden()


def test_live_jobs_come_first_and_an_ended_one_has_its_result(seen: Visit, scene: Scene) -> None:
    page = seen.page
    scene.bucket("results")
    report = (
        "import json\nhistory = [{'step': step, 'metrics': {'loss': 1 / step}} for step in range(1, 90)]\n"
        "json.dump({'metrics': {'loss': 0.1145}, 'history': history}, open('/gcs/results/1/"
        "vertex_cluster_progress.json', 'w'))\n"
    )
    code = "import os\nos.makedirs('/gcs/results/1', exist_ok=True)\n" + report
    directory = {"outputUriPrefix": "gs://results/1"}
    live = scene.create(pool(FLAG.format(name="first")), name="runs-still")
    key = scene.create(pool(code), name="has-ended", baseOutputDirectory=directory)
    scene.wait(key)
    expect(page.locator(f'[id="job/{key}"]')).to_contain_text("loss 0.1145")
    points = page.locator(f'[id="job/{key}"] .trend polyline').get_attribute("points") or ""
    heights = [float(one.partition(",")[2]) for one in points.split()]
    assert heights == sorted(heights) and len(heights) == 24, "a falling loss is a falling line"
    expect(page.locator("#jobs tr").first).to_contain_text("runs-still")
    page.set_viewport_size({"width": 1440, "height": 900})
    heights = page.locator("#jobs tr:not([hidden])").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert max(heights) <= 37, heights
    scene.raise_flag("first")
    scene.wait(live)


def test_jobs_are_sorted_by_their_result_and_grouped_by_resource(seen: Visit, scene: Scene) -> None:
    page = seen.page
    scene.bucket("groups")
    for run, loss in enumerate((0.5, 0.25, 0.75), start=1):
        file = f"/gcs/groups/{run}/vertex_cluster_progress.json"
        code = f"import json, os\nos.makedirs('/gcs/groups/{run}')\n"
        code += f"json.dump({{'metrics': {{'loss': {loss}}}}}, open('{file}', 'w'))\n"
        key = scene.create(
            pool(code),
            name=f"grouped-{run}",
            labels=owned("grouped", run=f"grouped-{run}"),
            baseOutputDirectory={"outputUriPrefix": f"gs://groups/{run}"},
        )
        scene.wait(key)
    rows = page.locator("#jobs tr:not([hidden]) th a:first-of-type", has_text="grouped-")
    expect(rows).to_have_text(["grouped-3", "grouped-2", "grouped-1"])
    expect(page.locator("#jobs")).to_contain_text("loss 0.75")
    head = page.get_by_role("columnheader", name="Progress or result")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(rows).to_have_text(["grouped-2", "grouped-1", "grouped-3"])
    page.get_by_label("one row per resource").check()
    expect(rows).to_have_text(["grouped-2"])
    assert "jobs-groups=1" in page.url
    page.get_by_role("button", name="3 runs").click()
    expect(rows).to_have_text(["grouped-2", "grouped-1", "grouped-3"])
    expect(page.locator("#jobs-words")).to_have_value("train/dev grouped")
    expect(page.get_by_label("one row per resource")).not_to_be_checked()


def test_a_reader_chooses_columns_of_metrics(seen: Visit, scene: Scene) -> None:
    page, keys = seen.page, []
    scene.bucket("columns")
    for run, metrics in enumerate(({"f1": 0.5, HOSTILE: 1}, {"f1": 0.75}, {"auc": 0.9}), start=1):
        file = f"/gcs/columns/{run}/vertex_cluster_progress.json"
        code = f"import json, os\nos.makedirs('/gcs/columns/{run}')\n"
        code += f"json.dump({{'metrics': {metrics}}}, open({file!r}, 'w'))\n" + FLAG.format(name="columns")
        directory = {"outputUriPrefix": f"gs://columns/{run}"}
        keys.append(scene.create(pool(code), name=f"columns-{run}", baseOutputDirectory=directory))
    rows = page.locator("#jobs tr:not([hidden])")
    page.locator("#jobs-words").fill("columns-")
    expect(rows.locator("[data-metrics]")).to_have_count(3)
    menu = page.locator("#columns")
    menu.locator("summary").press("Enter")
    expect(menu.get_by_label(HOSTILE)).to_be_visible()
    menu.get_by_label("f1").check()
    menu.get_by_label("auc").check()
    assert page.url.endswith("&metric=f1&metric=auc")
    assert serious(page) == []
    page.keyboard.press("Escape")
    f1 = rows.locator("td[data-label=f1]")
    expect(f1).to_have_text(["", "0.75", "0.5"])
    head = page.get_by_role("columnheader", name="f1")
    head.get_by_role("button").click()
    expect(f1).to_have_text(["0.5", "0.75", ""])
    scene.raise_flag("columns")
    expect(rows.filter(has_text="succeeded")).to_have_count(3)
    expect(f1).to_have_text(["0.5", "0.75", ""])
    page.reload()
    expect(rows.locator("td[data-label=f1]")).to_have_text(["", "0.75", "0.5"])
    expect(rows.locator("td[data-label=auc]")).to_have_text(["0.9", "", ""])
    page.set_viewport_size({"width": 1024, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    menu.locator("summary").click()
    menu.get_by_label("auc").uncheck()
    expect(rows.locator("td[data-label=auc]")).to_have_count(0)
    for key in keys:
        scene.wait(key)


def test_hostile_texts_open_no_dialog(seen: Visit, ended: str) -> None:
    page = seen.page
    expect(page.locator(f'[id="link/job/{ended}"]')).to_have_text(HOSTILE)
    page.locator(f'[id="link/job/{ended}"]').click()
    expect(page.locator("h1")).to_have_text(HOSTILE)
    expect(page.locator("#log li", has_text="onerror").first).to_be_visible()
    assert page.locator("main img, main script").count() == 0


def test_the_environment_is_reached_by_keyboard(seen: Visit, ended: str) -> None:
    page = seen.page
    page.goto(page.url + f"jobs/{ended}")
    page.locator("#replica-workerpool1-1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h2", has_text="Environment of workerpool1-1")).to_be_visible()
    expect(page.locator("#log-replica")).to_have_value("workerpool1-1")
    page.get_by_text("CLUSTER_SPEC", exact=True).click()
    expect(page.locator("pre", has_text='"workerpool1"')).to_be_visible()
