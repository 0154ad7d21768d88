"""Actions on the emulator: they need the token of a page, and say what they did."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.emulated.job_emulator import PARENT, pool
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import FLAG, Scene, owned
from support.waiting import eventually
from vertex_emulator.client.control import Control
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    found = Scene(emulator)
    found.bucket("flags")
    found.bucket("results")
    return found


def act(dashboard: Dashboard, path: str, value: str = "", *, token: str | None = None) -> tuple[int, Any]:
    """Send an action as a page does."""
    found = re.search(r'data-token="([^"]*)"', dashboard.text("/resources"))
    assert found is not None
    headers = {"Origin": f"http://{dashboard.host}", "X-Page-Token": found[1] if token is None else token}
    body = json.dumps({"value": value}).encode()
    answer = dashboard.ask(f"/actions/{path}", method="POST", headers=headers, body=body)
    return answer.status, answer.json()


def test_a_job_is_cancelled_once(dashboard: Dashboard, scene: Scene) -> None:
    key = scene.create(pool(FLAG.format(name="never")), name="cancelled")
    scene.wait(key, "JOB_STATE_RUNNING")
    assert act(dashboard, f"jobs/{key}/cancel", token="wrong")[0] == 403
    assert scene.get(key)["state"] == "JOB_STATE_RUNNING"
    status, answer = act(dashboard, f"jobs/{key}/cancel")
    assert (status, answer["text"]) == (200, "The job is being cancelled.")
    scene.wait(key, "JOB_STATE_CANCELLED")
    status, answer = act(dashboard, f"jobs/{key}/cancel")
    assert (status, answer["text"]) == (409, "The job has already ended: cancelled.")


def test_a_job_runs_again_without_the_labels_of_its_stack(dashboard: Dashboard, scene: Scene) -> None:
    directory = {"outputUriPrefix": "gs://results/digits/1/"}
    labels = {**owned("again"), "team": "vision"}
    first = scene.create(
        pool("print('once')", env=[{"name": "KEY", "value": "hunter2"}]),
        name="again",
        labels=labels,
        baseOutputDirectory=directory,
    )
    scene.wait(first)
    status, answer = act(dashboard, f"jobs/{first}/again")
    assert status == 200, answer
    second = scene.wait(answer["job"])
    assert second["labels"] == {"team": "vision", "vertex-training-again-of": first.partition("/")[2]}
    made, old = second["jobSpec"], scene.get(first)["jobSpec"]
    assert made["baseOutputDirectory"]["outputUriPrefix"].startswith("gs://results/digits/1-again-")
    assert made["workerPoolSpecs"] == old["workerPoolSpecs"]
    assert "hunter2" not in json.dumps(answer)


def test_a_job_with_max_cost_runs_again_only_by_its_stack(dashboard: Dashboard, scene: Scene) -> None:
    labels = {**owned("limited"), "vertex-training-cost": "3600-1000000-0"}
    key = scene.create(pool(""), name="limited", labels=labels)
    scene.wait(key)
    page = dashboard.text(f"/jobs/{key}")
    assert re.search(r'<button [^>]*id="action-again" disabled', page)
    assert "max_cost, which counts only runs that its stack submits" in page
    before = scene.call("GET", f"{PARENT}/customJobs").json()
    status, answer = act(dashboard, f"jobs/{key}/again")
    assert status == 409 and "Change run_token in the program" in answer["text"]
    assert scene.call("GET", f"{PARENT}/customJobs").json() == before


def test_replicas_are_killed_and_preempted(dashboard: Dashboard, scene: Scene) -> None:
    key = scene.create(
        pool(FLAG.format(name="kill")), pool(FLAG.format(name="kill"), replicas=2), name="killed"
    )
    scene.wait(key, "JOB_STATE_RUNNING")
    for action in ("kill", "preempt"):
        status, answer = act(dashboard, f"jobs/{key}/{action}", "workerpool9-9")
        assert status == 409 and "workerpool9-9" in answer["text"]
    status, answer = act(dashboard, f"jobs/{key}/kill", "workerpool1-1")
    assert (status, answer["text"]) == (200, "The emulator kills workerpool1-1.")
    path = f"/_local/{key.replace('customJobs', 'jobs')}"

    def attempts() -> list[int]:
        replicas = scene.call("GET", path).json()["replicas"]
        return [one.get("attempt", 0) for one in replicas if one["name"] == "workerpool1-1"]

    eventually(lambda: attempts() > [1] or scene.get(key)["state"] == "JOB_STATE_FAILED", what=attempts)
    scene.raise_flag("kill")
    scene.wait(key)


def test_the_clock_is_advanced(dashboard: Dashboard, scene: Scene, emulator: Emulator) -> None:
    try:
        for wrong in ("0", "-5", "x", "", "99999999999"):
            assert act(dashboard, "clock", wrong)[0] == 409, wrong
        status, answer = act(dashboard, "clock", "86400")
        assert status == 200 and answer["ahead"] >= 86_399
        assert re.fullmatch(r"The emulator's clock is now \S+ \S+ UTC\.", answer["text"])
    finally:
        Control(url=emulator.url, token=emulator.token).reset_clock()


def test_unknown_actions_and_bodies_are_refused(dashboard: Dashboard, scene: Scene) -> None:
    key = scene.create(pool(""), name="refused")
    scene.wait(key)
    assert act(dashboard, f"jobs/{key}/delete")[0] == 404
    assert act(dashboard, "jobs/models/1/cancel")[0] == 404
    assert act(dashboard, "jobs/customJobs/1/again")[0] == 409
    assert act(dashboard, f"jobs/{key}/kill", "x" * 5000)[0] == 400


def test_nothing_is_done_by_get(dashboard: Dashboard, scene: Scene) -> None:
    key = scene.create(pool(""), name="no-get")
    scene.wait(key)
    before = scene.requests()[-1]["number"]
    for path in (f"jobs/{key}/again", f"jobs/{key}/cancel", "clock"):
        assert dashboard.ask(f"/actions/{path}?value=60").status == 405
    assert {one["method"] for one in scene.requests(after=before)} <= {"GET"}
