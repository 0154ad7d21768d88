"""The dashboard of Google Cloud: its clients reach the emulator through its proxy, as those of a user do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client.ui import everything, experiments
from support.emulated import command
from support.emulated.job_emulator import pool
from support.emulated.ui.dashboard import Dashboard, running
from support.emulated.ui.scene import FLAG, Scene, owned
from support.waiting import eventually
from vertex_emulator.client.launcher import Emulator

GOOGLE = ("--endpoint", "google", "--project", "local", "--location", "us-central1")


@pytest.fixture(scope="module")
def shell(emulator: Emulator, data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a shell in which Google's hosts lead to the emulator."""
    env = command.environment(tmp_path_factory.mktemp("home"))
    shown = command.run("emulator", "env", "--proxy", "--json", "--data-dir", str(data_dir), env=env)
    return {**env, **shown.json["environment"]}


@pytest.fixture(scope="module")
def google(shell: dict[str, str]) -> Iterator[Dashboard]:
    with running(*GOOGLE, env=shell) as found:
        yield found


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    found = Scene(emulator)
    found.bucket("flags")
    return found


@pytest.fixture(scope="module")
def live(scene: Scene) -> str:
    """Return the key of a running job, whose first line is in its log."""
    key = scene.create(
        pool("print('a line', flush=True)\n" + FLAG.format(name="google")), name="live", labels=owned("live")
    )
    scene.wait(key, "JOB_STATE_RUNNING")
    job_id = f'resource.labels.job_id="{key.partition("/")[2]}"'
    asked = {"resourceNames": ["projects/local"], "filter": job_id, "pageSize": 100}
    eventually(lambda: '"a line"' in json.dumps(scene.post("/v2/entries:list", asked)))
    return key


def test_every_page_reads_google_cloud_and_changes_nothing(
    google: Dashboard, scene: Scene, live: str
) -> None:
    everything.make_objects(scene, many=0)
    everything.make_resources(scene)
    tuning = everything.make_tuning(scene, trials=3)
    scene.wait(tuning)
    image = everything.make_image(scene)
    experiments.make(scene)
    before = scene.requests()[-1]["number"]
    expected = {
        "/": "live",
        f"/jobs/{live}": "not reported",
        f"/jobs/{tuning}": "Best:",
        "/resources": "2 x n1-standard-4",
        "/experiments": "Which rate is best for digits?",
        f"/experiments/{experiments.DIGITS}": "<figure",
        "/storage": "train-dev-data",
        "/storage/object?bucket=train-dev-data&name=digits/labels.csv": "zero,0",
        "/images": ">images</a>",
        f"/images/image?uri={image.replace('@', '%40')}": "linux/amd64",
        f"/compare?job={live}&job={tuning}": "The kinds differ",
    }
    for path, text in expected.items():
        html = google.text(path)
        assert text in html, path
        assert "<b>Google Cloud</b> · local · us-central1" in html, path
        assert "data-token" not in html and "data-action" not in html, path
    with google.events(f"/live/jobs/{live}") as events:
        lines = next(event for event in events if event.name == "log")
    assert any(message == "a line" for *_, message in lines.data)
    made = scene.requests(after=before)
    own = [one["target"] for one in made if one["target"].startswith("/_local/")]
    assert not [each for each in own if not each.startswith("/_local/requests")], own
    changing = {one["target"].partition("?")[0] for one in made if one["method"] not in ("GET", "HEAD")}
    assert {path for path in changing if path != "/v2/entries:list" and "token" not in path} == set()


def test_actions_need_an_option(google: Dashboard, live: str) -> None:
    own = {"Origin": f"http://{google.host}", "X-Page-Token": "x"}
    answer = google.ask(f"/actions/jobs/{live}/cancel", method="POST", headers=own, body=b"{}")
    assert answer.status == 403 and "--allow-actions" in answer.json()["text"]


def test_with_the_option_jobs_are_cancelled_and_the_emulator_is_not_controlled(
    shell: dict[str, str], scene: Scene, live: str
) -> None:
    with running(*GOOGLE, "--allow-actions", env=shell) as found:
        html = found.text(f"/jobs/{live}")
        assert 'id="action-cancel"' in html and 'id="action-kill"' not in html
        assert "Clock of the emulator" not in found.text("/resources")
        token = html.partition('data-token="')[2].partition('"')[0]
        own = {"Origin": f"http://{found.host}", "X-Page-Token": token}

        def act(path: str, value: str) -> tuple[int, str]:
            body = b'{"value": "%s"}' % value.encode()
            answer = found.ask(f"/actions/{path}", method="POST", headers=own, body=body)
            return answer.status, str(answer.json()["text"])

        assert act(f"jobs/{live}/kill", "workerpool0-0") == (409, "Only the emulator can do this.")
        assert act("clock", "60") == (409, "Only the emulator can do this.")
        assert act(f"jobs/{live}/cancel", "")[0] == 200
    scene.wait(live, "JOB_STATE_CANCELLED")


def test_a_project_must_be_given(tmp_path: Path) -> None:
    env = command.environment(tmp_path)
    ended = command.run("ui", "--endpoint", "google", env=env)
    assert ended.code == 2 and "No Google Cloud project is given" in ended.err
    both = command.run("ui", "--endpoint", "google", "--data-dir", str(tmp_path), env=env)
    assert both.code == 2 and "--data-dir" in both.err
