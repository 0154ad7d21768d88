"""Storage, images, trials, comparison, resources and actions in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from support.client.ui import everything, experiments
from support.client.ui.everything import HOSTILE, Everything
from support.emulated.job_emulator import pool
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import FLAG, Scene
from support.ui.axe import COLOURS, serious
from support.ui.browser import NARROW, WIDE, Scheme, Visit, visit
from vertex_emulator.client.control import Control
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    return Scene(emulator)


@pytest.fixture(scope="module")
def made(scene: Scene) -> Everything:
    found = everything.make(scene, many=0)
    experiments.make(scene)
    scene.wait(found.tuning)
    return found


@pytest.fixture
def seen(browser: Browser, dashboard: Dashboard, made: Everything) -> Iterator[Visit]:
    with visit(browser, dashboard.url, dashboard.host) as found:
        yield found
        assert found.problems == [] and found.dialogs == []


def addresses(made: Everything) -> list[str]:
    """Return the address of each page."""
    bucket = {"bucket": "train-dev-data"}
    return [
        "experiments",
        f"experiments/{experiments.DIGITS}",
        f"experiments/{experiments.PLAIN}",
        f"jobs/{made.tuning}",
        "compare",
        f"compare?job={made.first}&job={made.second}&job={made.tuning}",
        "resources",
        "storage",
        f"storage/folder?{urlencode(bucket)}",
        f"storage/object?{urlencode({**bucket, 'name': 'digits/model/metrics.json'})}",
        f"storage/object?{urlencode({**bucket, 'name': 'digits/picture.png'})}",
        f"storage/object?{urlencode({**bucket, 'name': HOSTILE})}",
        "images",
        "images/repository?repository=images",
        f"images/image?{urlencode({'uri': made.image})}",
        f"jobs/{made.second}?replica=workerpool0-0",
        "",
        "nowhere",
    ]


@pytest.mark.slow
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(
    browser: Browser, dashboard: Dashboard, made: Everything
) -> None:
    """Load each page once: colours follow the scheme, and the layout the width, while it is open."""
    schemes: tuple[Scheme, ...] = get_args(Scheme)
    with visit(browser, dashboard.url, dashboard.host) as seen:
        page = seen.page
        for path in addresses(made):
            page.goto(f"http://{dashboard.host}/{path}")
            for size in (WIDE, NARROW):
                page.set_viewport_size({"width": size[0], "height": size[1]})
                for number, scheme in enumerate(schemes):
                    page.emulate_media(color_scheme=scheme)
                    assert serious(page, COLOURS if number else ()) == [], (path, size, scheme)
                assert page.evaluate("document.documentElement.scrollWidth") <= size[0], (path, size)
        assert [one for one in seen.problems if "404" not in one] == [] and seen.dialogs == []


def test_storage_is_browsed_by_keyboard_and_hostile_names_are_text(seen: Visit) -> None:
    page = seen.page
    page.get_by_role("link", name="Storage", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Storage")  # the overview has the next link, too
    page.get_by_role("link", name="train-dev-data").focus()
    page.keyboard.press("Enter")
    folder = page.get_by_role("link", name="<img src=x onerror=alert(1)>")
    expect(folder).to_be_visible()
    folder.focus()
    page.keyboard.press("Enter")
    for name in HOSTILE.split("/")[1:]:  # the page before has no link of that name
        page.get_by_role("link", name=name).click()
    expect(page.locator("pre.content")).to_have_text("<script>alert(4)</script>")
    assert page.locator("main img, main script").count() == 0


def test_a_picture_is_shown_and_an_object_downloaded(seen: Visit) -> None:
    page = seen.page
    query = urlencode({"bucket": "train-dev-data", "name": "digits/picture.png"})
    page.goto(f"{page.url}storage/object?{query}")
    picture = page.locator("img.picture")
    expect(picture).to_be_visible()
    assert picture.evaluate("(one) => one.naturalWidth") == 60
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "picture.png"
    assert download.value.path().read_bytes() == everything.picture()


def trials(page: Page) -> list[str]:
    return page.locator("#trials tr").evaluate_all("(rows) => rows.map((row) => row.dataset.trial)")


def test_trials_are_sorted_by_keyboard_and_shown_in_the_pictures(seen: Visit, made: Everything) -> None:
    page = seen.page
    page.goto(f"{page.url}jobs/{made.tuning}")
    assert trials(page) == ["1", "2", "3", "4", "5", "6"]
    heading = page.get_by_role("columnheader", name="accuracy")
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    upward = trials(page)
    assert upward[-1] == "2", "a trial without a value is last"
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert trials(page) == [*upward[:-1][::-1], "2"]
    best = page.locator("#trials tr").first
    expect(best).to_contain_text("best")
    best.locator("a").focus()
    expect(page.locator(".trial-line.shown-trial")).to_have_count(1)
    expect(page.locator(".trial-line.shown-trial")).to_have_attribute("data-trial", upward[-2])


def test_trials_appear_while_the_page_is_open_and_stay_sorted(seen: Visit, scene: Scene) -> None:
    page = seen.page
    key = everything.make_tuning(scene, trials=5, waits_for="trials")
    page.goto(f"{page.url}jobs/{key}")
    expect(page.locator("#trials tr")).to_have_count(4)
    expect(page.locator(".point")).to_have_count(4)
    page.get_by_role("columnheader", name="Trial").get_by_role("button").click()
    expect(page.locator("#trials tr").first).to_have_attribute("data-trial", "4")
    scene.raise_flag("trials")
    expect(page.locator("#state")).to_contain_text("succeeded")
    expect(page.locator("#strip")).to_contain_text("4 succeeded, 1 infeasible")
    expect(page.locator("#trials tr").first).to_have_attribute("data-trial", "5")
    expect(page.locator(".point.done")).to_have_count(4)


def test_runs_of_an_experiment_are_sorted_and_stay_sorted_when_a_column_appears(
    seen: Visit, scene: Scene, made: Everything
) -> None:
    page = seen.page
    experiments.experiment(scene, "sorted")
    runs = {
        rate: experiments.run(scene, "sorted", f"run-{rate}", _params={"rate": rate}) for rate in (2, 10, 1)
    }
    page.goto(f"{page.url}experiments/sorted")
    rows = page.locator("#runs th")
    expect(rows).to_have_text(["run-1", "run-10", "run-2"])  # the newest first
    page.locator("#runs-head").get_by_role("button", name="rate").click()
    expect(rows).to_have_text(["run-1", "run-2", "run-10"])
    experiments.change(scene, runs[2], _params={"rate": 20}, _metrics={"accuracy": 0.5})
    expect(page.locator("#runs-head")).to_contain_text("accuracy")
    expect(rows).to_have_text(["run-1", "run-10", "run-2"])
    rate = page.get_by_role("columnheader", name="rate")
    expect(rate).to_have_attribute("aria-sort", "ascending")


def test_many_columns_leave_the_names_of_runs_readable(seen: Visit, scene: Scene, made: Everything) -> None:
    page = seen.page
    experiments.experiment(scene, "many-columns")
    for number in range(3):
        experiments.run(
            scene,
            "many-columns",
            f"sgd-with-momentum-and-a-rather-long-name-{number}",
            _params={f"parameter_{name}": f"{name}-{number}" for name in "abcde"},
            _metrics={f"metric_{name}": 0.1 + number / 7 for name in "abcde"},
        )
    page.set_viewport_size({"width": 1024, "height": 800})
    page.goto(f"{page.url}experiments/many-columns")
    expect(page.locator("#runs tr")).to_have_count(3)
    widths = page.locator("#runs tr:first-child > *").evaluate_all("all => all.map((one) => one.clientWidth)")
    assert len(widths) == 14 and widths[0] >= 180 and min(widths) >= 60
    assert page.locator("#runs tr").first.bounding_box()["height"] <= 100
    page.locator(".wide").evaluate("one => { one.scrollLeft = 400; }")
    name, table = page.locator("#runs th").first.bounding_box(), page.locator(".wide").bounding_box()
    assert abs(name["x"] - table["x"]) < 2, "the names stay while the columns scroll"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024


def test_the_legend_has_the_last_values_and_follows(seen: Visit, scene: Scene, made: Everything) -> None:
    page = seen.page
    board = experiments.board(scene, "legend")
    experiments.experiment(scene, "legend", board=board)
    experiments.run(scene, "legend", "one")
    run = experiments.series(scene, board, "legend", "one", {"loss": {1: 2.0, 2: 0.25}})
    page.goto(f"{page.url}experiments/legend")
    legend = page.locator("#curves figure .u-legend .u-value")
    expect(legend).to_have_text(["2", "0.25"])
    listed = scene.call("GET", f"/v1/{run}/timeSeries").json()["tensorboardTimeSeries"]
    experiments.write(scene, listed[0]["name"], {7: 0.125})
    expect(legend).to_have_text(["7", "0.125"])
    page.locator("#curves .u-over").hover(position={"x": 2, "y": 60})
    expect(legend).to_have_text(["1", "2"])


def test_curves_are_over_steps_or_time_and_the_address_keeps_the_choice(
    seen: Visit, made: Everything
) -> None:
    page, root = seen.page, seen.page.url
    page.goto(f"{root}compare?job={made.first}&job={made.second}")
    loss = page.locator("#curves figure", has_text="loss")
    rows = loss.locator(".scroll tr")
    positions = rows.locator("td:first-child")
    loss.locator("summary").click()
    expect(rows.first).to_contain_text("step")
    expect(positions).to_have_text(["1", "2", "3"])
    page.locator("#curves-axis").select_option("time")
    expect(rows.first).to_contain_text("time since the first value")
    # The second run takes twice as long for a step.
    expect(positions).to_have_text(["0s", "1m00s", "2m00s", "4m00s"])
    assert page.url.endswith("&curves-axis=time")
    page.reload()
    expect(page.locator("#curves-axis")).to_have_value("time")
    loss.locator("summary").click()
    expect(positions).to_have_text(["0s", "1m00s", "2m00s", "4m00s"])
    page.locator("#choose-title ~ form button").first.click()
    expect(page.locator("#curves-axis")).to_have_value("time")
    page.goto(f"{root}jobs/{made.second}?curves-axis=time&curves-log=1")
    loss = page.locator("#metrics figure", has_text="loss")
    loss.locator("summary").click()
    expect(loss.locator(".scroll td:first-child")).to_have_text(["0s", "2m00s", "4m00s"])
    expect(page.locator("#curves-log")).to_be_checked()
    page.locator("#curves-axis").select_option("step")
    expect(loss.locator(".scroll td:first-child")).to_have_text(["1", "2", "3"])
    assert page.url.endswith("?curves-log=1")


def test_a_drag_zooms_into_a_chart_and_a_double_click_shows_all_again(seen: Visit, made: Everything) -> None:
    page = seen.page
    page.goto(f"{page.url}jobs/{made.second}")
    loss = page.locator("#metrics figure", has_text="loss")
    loss.scroll_into_view_if_needed()
    box = loss.locator(".u-over").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2

    def at_the_left() -> str:
        """Return the step at the left edge, as the legend has it."""
        page.mouse.move(box["x"] + 2, middle)
        return loss.locator(".u-legend .u-value").first.inner_text()

    assert at_the_left() == "1"
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], middle, steps=4)
    page.mouse.up()
    assert at_the_left() == "2", "the steps from 1.8 to 2.4 are shown"
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], middle)
    assert at_the_left() == "1"


def test_tables_are_sorted_on_a_phone(browser: Browser, dashboard: Dashboard, made: Everything) -> None:
    with visit(browser, dashboard.url, dashboard.host, size=NARROW) as seen:
        page = seen.page
        page.goto(f"http://{dashboard.host}/experiments/{experiments.DIGITS}")
        rows = page.locator("#runs th")
        page.get_by_label("Sort by").select_option("rate parameter")
        expect(rows).to_have_text(["slow", "usual", "fast"])
        page.get_by_role("button", name="ascending").click()
        expect(rows).to_have_text(["fast", "usual", "slow"])
        assert seen.problems == []


def test_only_pages_with_a_search_offer_it(seen: Visit) -> None:
    page = seen.page
    expect(page.locator("footer")).to_contain_text("Press / to search.")
    page.goto(f"{page.url}resources")
    expect(page.locator("footer")).not_to_contain_text("search")


def test_runs_are_chosen_in_the_overview_by_keyboard(seen: Visit, scene: Scene, made: Everything) -> None:
    page = seen.page
    compare = page.locator("form#compare button")
    expect(compare).to_be_disabled()
    page.locator(f'[id="choose/job/{made.first}"]').focus()
    page.keyboard.press("Space")
    page.locator(f'[id="choose/job/{made.second}"]').focus()
    page.keyboard.press("Space")
    expect(compare).to_have_text("Compare 2 runs")
    key = scene.create(pool(""), name="another")
    expect(page.locator(f'[id="job/{key}"]')).to_be_visible()
    expect(compare).to_have_text("Compare 2 runs")
    page.reload()
    expect(compare).to_have_text("Compare 2 runs")
    expect(page.locator(f'[id="choose/job/{made.first}"]')).to_be_checked()
    compare.focus()
    page.keyboard.press("Enter")
    expect(page.locator("table.compare")).to_contain_text("0.94 (+0.03)")
    expect(page.locator("main")).to_contain_text("workers: 1 -> 3 x n1-standard-4")


def open_actions(page: Page) -> None:
    page.locator("summary", has_text="Actions").click()


def test_a_job_is_cancelled_after_a_question(seen: Visit, scene: Scene) -> None:
    page = seen.page
    key = scene.create(pool(FLAG.format(name="never")), name=HOSTILE[:60])
    scene.wait(key, "JOB_STATE_RUNNING")
    page.goto(f"{page.url}jobs/{key}")
    page.locator("summary", has_text="Actions").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#action-cancel")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Cancel the job?")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert scene.get(key)["state"] == "JOB_STATE_RUNNING"
    open_actions(page)
    page.locator("#action-cancel").press("Enter")
    page.locator("#confirm-yes").press("Enter")
    expect(page.locator("#action-result")).to_have_text("The job is being cancelled.")
    expect(page.locator("#state")).to_contain_text("cancelled")
    expect(page.locator("#action-cancel")).to_have_count(0)


def test_a_replica_is_preempted_and_the_job_runs_again(seen: Visit, scene: Scene) -> None:
    page = seen.page
    waiting = FLAG.format(name="again")
    key = scene.create(pool(waiting), pool(waiting, replicas=2), name="again")
    scene.wait(key, "JOB_STATE_RUNNING")
    page.goto(f"{page.url}jobs/{key}")
    open_actions(page)
    page.locator("#action-replica").select_option("workerpool1-1")
    page.locator("#action-preempt").click()
    expect(page.get_by_role("dialog")).to_contain_text("Preempt the replica: workerpool1-1?")
    page.locator("#confirm-yes").click()
    expect(page.locator("#action-result")).to_have_text("The emulator preempts the machine of workerpool1-1.")
    scene.raise_flag("again")
    scene.wait(key)
    open_actions(page)
    page.locator("#action-again").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#action-result")).to_contain_text("The job runs again as")
    page.locator("#action-result a").click()
    expect(page.locator("h1")).to_have_text("again")
    assert key not in page.url


def test_the_clock_is_advanced(seen: Visit, scene: Scene, emulator: Emulator) -> None:
    page = seen.page
    control = Control(url=emulator.url, token=emulator.token)
    page.goto(f"{page.url}resources")
    try:
        page.locator("#action-seconds").select_option("86400")
        page.locator("#action-clock").click()
        page.locator("#confirm-no").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.locator("#action-clock").click()
        page.locator("#confirm-yes").click()
        expect(page.locator("#action-result")).to_contain_text("The emulator's clock is now")
        expect(page.locator("#schedules")).to_contain_text("last run")
    finally:
        control.reset_clock()
