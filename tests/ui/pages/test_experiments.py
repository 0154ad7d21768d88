"""The pages of experiments: those that Google's SDK writes, and hostile ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from support.client.ui import experiments
from support.client.ui.experiments import DIGITS, PLAIN
from support.emulated.job_emulator import PARENT, pool
from support.emulated.ui.dashboard import Dashboard, Event
from support.emulated.ui.scene import Scene
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    return Scene(emulator)


@pytest.fixture(scope="module")
def board(scene: Scene, dashboard: Dashboard) -> str:
    assert "There are no experiments" in dashboard.text("/experiments"), "without a metadata store"
    return experiments.make(scene)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def row_of(html: str, key: str) -> str:
    found = re.search(rf'<tr role="row" id="{key}".*?</tr>', html, re.DOTALL)
    assert found is not None, key
    return words(found[0])


def test_the_list_has_runs_and_the_tensorboard(dashboard: Dashboard, board: str) -> None:
    html = dashboard.text("/experiments")
    assert f'href="/experiments/{DIGITS}"' in html and f'href="/experiments/{PLAIN}"' in html
    digits = row_of(html, f"experiment/{DIGITS}")
    assert "Which rate is best for digits?" in digits
    assert " 3, 1 running " in digits
    assert "&lt;img src=x onerror=alert(1)&gt;" in digits, "the board's name"
    assert '<a href="/experiments" aria-current="page">Experiments</a>' in html


def test_an_experiment_has_a_table_of_runs_and_curves(dashboard: Dashboard, board: str) -> None:
    html = dashboard.text(f"/experiments/{DIGITS}")
    heading = words(html.partition("<thead")[2].partition("</thead>")[0])
    columns = "rate parameter accuracy metric accuracy last value loss last value"
    assert f"Parameter Metric Last values Run State {columns} Age Last change" in heading
    assert "The same in all runs: optimizer adam . " in words(html)
    slow = row_of(html, f"run/{DIGITS}-slow")
    assert re.search(r"slow ✔ complete 0\.02 0\.99 0\.98 best 0\.64\d+ ", slow), slow
    assert re.search(r"fast ✖ failed 0\.3 0\.7 0\.04\d+ best ", row_of(html, f"run/{DIGITS}-fast"))
    assert "▶ running" in row_of(html, f"run/{DIGITS}-usual") and "✖ failed" in row_of(
        html, f"run/{DIGITS}-fast"
    )
    assert html.count("<figure") == 2 and html.count("&#34;name&#34;:&#34;fast&#34;") == 2
    assert html.index(f"run/{DIGITS}-usual") < html.index(f"run/{DIGITS}-slow"), "the newest run is first"


def test_an_experiment_without_a_tensorboard_says_so(dashboard: Dashboard, board: str) -> None:
    html = dashboard.text(f"/experiments/{PLAIN}")
    assert "without a Tensorboard: it has no time series" in html and "experiment_tensorboard" in html
    assert "<figure" not in html


def test_hostile_names_and_values_are_text(dashboard: Dashboard, board: str) -> None:
    for path in ("/experiments", f"/experiments/{DIGITS}", f"/experiments/{PLAIN}"):
        html = dashboard.text(path)
        assert "&lt;img src=x onerror=alert(1)&gt;" in html, path
        assert "<img" not in html and "<script>" not in html, path
    assert "[1, 2]" in row_of(html, f"run/{PLAIN}-hostile"), "other values are JSON"


def test_a_run_and_its_job_are_linked(dashboard: Dashboard, scene: Scene, board: str) -> None:
    """Read the job from the metadata that the SDK writes, and from the spec of the job."""
    first = scene.create(pool(""), name="by-metadata")
    name = scene.get(first)["name"]
    experiments.experiment(scene, "with-jobs")
    listed = [{"custom_job_resource_name": name}, {"custom_job_resource_name": "javascript:alert(1)"}]
    experiments.run(scene, "with-jobs", "one", _custom_jobs=listed)
    run = experiments.run(scene, "with-jobs", "two")
    spec = {"experiment": f"{PARENT.removeprefix('/v1/')}/metadataStores/default/contexts/with-jobs"}
    second = scene.create(pool(""), name="by-spec", experimentRun=run, **spec)
    html = dashboard.text("/experiments/with-jobs")
    assert f'href="/jobs/{first}"' in html and f'href="/jobs/{second}"' in html
    assert "javascript" not in html
    assert 'href="/experiments/with-jobs"' in dashboard.text(f"/jobs/{second}")
    assert 'href="/experiments' not in dashboard.text(f"/jobs/{first}").partition("<main")[2]


def test_a_run_appears_and_ends_while_the_page_is_open(
    dashboard: Dashboard, scene: Scene, board: str
) -> None:
    experiments.experiment(scene, "live", board=board)
    with dashboard.events("/live/experiments/live") as events:
        sent: list[str] = []
        run = experiments.run(scene, "live", "one", state="RUNNING")
        wait(events, sent, "▶")
        experiments.change(scene, run, _state="COMPLETE", _metrics={"recall": 0.75})
        wait(events, sent, "recall")
        wait(events, sent, "0.75")
        experiments.series(scene, board, "live", "one", {"loss": {1: 0.5}})
        wait(events, sent, "loss")


def wait(events: Iterator[Event], sent: list[str], text: str) -> None:
    """Wait until the stream has sent a text. `sent` collects what it has sent."""
    while not any(text in one for one in sent):
        event = next(events)
        assert event.name != "trouble", event.data
        sent += [json.dumps(event.data, ensure_ascii=False)] if event.name == "parts" else []


def test_addresses_of_nothing_are_refused(dashboard: Dashboard, board: str) -> None:
    for path in ("nowhere", f"{DIGITS}-slow", "..%2f..", "%3Cb%3E", "a" * 200):
        answer = dashboard.ask(f"/experiments/{path}")
        assert answer.status == 404, path
        assert b"<b>" not in answer.body


def test_an_experiment_whose_tensorboard_is_gone_has_its_runs(
    dashboard: Dashboard, scene: Scene, board: str
) -> None:
    of = experiments.board(scene, "short-lived")
    experiments.experiment(scene, "orphan", board=of)
    experiments.run(scene, "orphan", "one", _params={"rate": 1})
    assert scene.call("DELETE", f"/v1/{of}").status == 200
    assert "run/orphan-one" in dashboard.text("/experiments/orphan")
