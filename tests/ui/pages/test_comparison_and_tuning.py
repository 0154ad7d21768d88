"""The pages of tuning jobs, of runs side by side, and of other resources."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from support.client.ui import everything
from support.client.ui.everything import HOSTILE, Everything
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import Scene
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def made(emulator: Emulator) -> Everything:
    scene = Scene(emulator)
    found = everything.make(scene, many=0)
    scene.wait(found.tuning)
    return found


def rows(html: str) -> list[str]:
    return re.findall(r'<tr role="row" id="trial/.*?</tr>', html, re.DOTALL)


def test_the_trials_are_a_table_and_two_pictures(dashboard: Dashboard, made: Everything) -> None:
    html = dashboard.text(f"/jobs/{made.tuning}")
    assert len(rows(html)) == 6
    assert html.count("data-trial=") == 6 + 6 + 6, "rows, points, lines"
    failed = next(row for row in rows(html) if 'id="trial/2"' in row)
    assert "infeasible" in failed and "this trial fails" in failed
    assert html.count('class="point infeasible"') == 1 and html.count('class="point done"') == 5
    words = re.sub(r"<[^>]*>|\s+", " ", html)
    words = re.sub(r" +", " ", words)
    assert "Trials 6 /6 5 succeeded, 1 infeasible" in words
    assert "Study It is to maximize accuracy, by random search." in words
    best = [row for row in rows(html) if 'class="best"' in row]
    number = best[0].partition('id="trial/')[2].partition('"')[0]
    assert re.search(rf"Best accuracy 0\.\d+ trial {number} ", words)
    assert len(best) == 1 and "Best:" in html and "so far" not in html
    assert "&lt;b&gt;sgd&lt;/b&gt;" in html and "<b>sgd</b>" not in html


def test_two_runs_are_side_by_side(dashboard: Dashboard, made: Everything) -> None:
    html = dashboard.text(f"/compare?job={made.second}&job={made.first}")
    words = re.sub(r"<[^>]*>|\s+", " ", html)
    words = re.sub(r" +", " ", words)
    assert "accuracy 0.91 0.94 (+0.03) best" in words, "the older run is the base"
    assert "Run run 1 base run 2" in words
    assert "--rate 0.1 0.2" in words, "the same in both pools"
    assert "loss 0.5 0.5" in words and "loss, best 0.09 at 2 0.06 at 2 best" in words
    assert "--token [secret] [secret]" in words and "hunter" not in html
    assert "The same in all runs: kind custom job" in words
    curves = [json.loads(unescape(one)) for one in re.findall(r'data-curve="([^"]*)"', html)]
    assert [[one["name"] for one in chart["series"]] for chart in curves] == [["run 1", "run 2"]]
    assert "workers: 1 -&gt; 3 x n1-standard-4" in html
    assert "its spec changed" in html and "cost <b>&lt;1¢</b>" in html and "succeeded" in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and "<img" not in html
    assert html.count("checked") == 2


def test_jobs_of_different_kinds_are_compared_without_their_declarations(
    dashboard: Dashboard, made: Everything
) -> None:
    html = dashboard.text(f"/compare?job={made.first}&job={made.tuning}")
    assert "The kinds differ" in html


def test_runs_are_chosen_from_those_of_the_resource(dashboard: Dashboard, made: Everything) -> None:
    html = dashboard.text(f"/compare?job={made.first}")
    assert set(re.findall(r'name="job" value="([^"]*)"', html)) == {made.first, made.second}
    everyone = dashboard.text("/compare")
    assert {made.first, made.second, made.tuning} <= set(re.findall(r'name="job" value="([^"]*)"', everyone))
    assert f'href="/compare?job={made.first}"' in dashboard.text(f"/jobs/{made.first}")
    assert f'value="{made.first}" form="compare"' in dashboard.text("/")


def test_wrong_comparisons_are_refused(dashboard: Dashboard, made: Everything) -> None:
    many = "&".join(f"job=customJobs/{number}" for number in range(7))
    for query in ("job=customJobs/1", "job=x", "job=models/1", "job=customJobs/..", many):
        assert dashboard.ask(f"/compare?{query}").status == 404, query


def test_resources_have_state_and_owner(dashboard: Dashboard, made: Everything) -> None:
    html = dashboard.text("/resources")
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
    assert "machines" in words and "2 x n1-standard-4 machines train/dev" in words
    assert "0 3 * * *, Etc/UTC" in words and "nightly train/dev" in words
    assert "weekly train/dev" in words
    assert "version 1 (default), gs://train-dev-data/digits/saved/ model train/dev" in words
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and HOSTILE[:20] not in html
    assert len(re.findall(r'id="[a-z-]*/', html)) >= 4


def test_a_page_reads_a_page(dashboard: Dashboard, made: Everything, emulator: Emulator) -> None:
    """Check that no list is asked for more than 100 of a kind at once, or for a second page."""
    scene = Scene(emulator)
    before = scene.requests()[-1]["number"]
    for path in ("/compare", "/resources/list?kind=models", "/storage", "/images"):
        dashboard.text(path)
    lists = [one["target"] for one in scene.requests(after=before) if "Size=" in one["target"]]
    assert len(lists) >= 4
    assert all("pageSize=100" in one and "pageToken" not in one for one in lists), lists
