"""The events of an open page: each change once, new lines of the log, and trouble with the emulator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import pool
from support.emulated.ui.dashboard import Dashboard, Event, running
from support.emulated.ui.scene import FLAG, Scene
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    found = Scene(emulator)
    found.bucket("flags")
    return found


def until(events: Iterator[Event], fits: Callable[[Event], Any]) -> list[Event]:
    """Read events up to the first that fits. Return all of them."""
    found: list[Event] = []
    for event in events:
        found.append(event)
        if fits(event):
            return found
    raise AssertionError(found)


def html_of(events: list[Event], part: str) -> str:
    return "".join(event.data["fragments"].get(part, "") for event in events if event.name == "parts")


def live(html: str, path: str) -> str:
    """Return the address of the stream that a page opens."""
    seen, after = re.search(r'data-seen="([^"]*)"', html), re.search(r'data-after="([^"]*)"', html)
    assert seen is not None and after is not None
    return f"/live{path}?seen={seen[1]}&after={after[1].replace(' ', '%20').replace('+', '%2B')}"


def test_a_new_job_and_its_states_appear_in_the_open_overview(dashboard: Dashboard, scene: Scene) -> None:
    html = dashboard.text("/")
    with dashboard.events(live(html, "/")) as events:
        assert next(events).name == "well"
        key = scene.create(pool(FLAG.format(name="overview")), name="appears")

        def row(event: Event) -> str:
            rows = (
                event.data["rows"].get("jobs", {"changed": {}}) if event.name == "parts" else {"changed": {}}
            )
            return str(rows["changed"].get(f"job/{key}", ""))

        first = until(events, row)[-1]
        assert first.data["rows"]["jobs"]["order"][0] == f"job/{key}"
        if "running" not in row(first):
            until(events, lambda event: "running" in row(event))
        scene.raise_flag("overview")
        last = until(events, lambda event: "succeeded" in row(event))[-1]
        assert last.data["rows"]["jobs"]["order"] is None
        assert list(last.data["rows"]["jobs"]["changed"]) == [f"job/{key}"]


def test_replicas_events_and_lines_appear_on_the_open_page_of_a_job(
    dashboard: Dashboard, scene: Scene
) -> None:
    code = "print('begin', flush=True)\n" + FLAG.format(name="job") + "print('end', flush=True)"
    key = scene.create(pool(code), name="watched")
    path = f"/jobs/{key}"
    with dashboard.events(live(dashboard.text(path), path)) as events:
        scene.wait(key, "JOB_STATE_RUNNING")
        scene.raise_flag("job")
        found = until(events, lambda event: "succeeded" in html_of([event], "state"))
        assert "succeeded" in html_of(found, "topology")

    with dashboard.events(f"/live{path}") as events:
        log = until(events, lambda event: event.name == "log")[-1]
    lines = [message for _, _, replica, message in log.data if replica == "workerpool0-0"]
    assert lines.index("begin") < lines.index("end")
    assert any(message == "Job completed successfully." for *_, message in log.data)

    # A page that reconnects gets all parts again, and the log from where it was.
    with dashboard.events(f"/live{path}?after=nonsense", last=log.id) as events:
        again = until(events, lambda event: event.name == "parts")
    assert "succeeded" in again[-1].data["fragments"]["state"]


def test_what_the_first_view_has_is_not_sent_again(dashboard: Dashboard, scene: Scene) -> None:
    html = dashboard.text("/")
    assert "bucket/flags" in html
    with dashboard.events(live(html, "/")) as events:
        scene.bucket("made-later")
        found = until(events, lambda event: "made-later" in str(event.data))
    sent = [
        event.data["rows"]["buckets"]
        for event in found
        if event.name == "parts" and "buckets" in event.data["rows"]
    ]
    assert [list(one["changed"]) for one in sent] == [["bucket/made-later"]]


def test_open_pages_survive_a_restart_of_the_emulator(tmp_path: Path) -> None:
    data_dir = tmp_path / "emulator"
    try:
        with running("--data-dir", str(data_dir)) as dashboard:
            answer = dashboard.ask("/")
            assert answer.status == 503
            assert f"emulator start --data-dir {data_dir}" in answer.body.decode()
            with dashboard.events("/live/") as events:
                until(events, lambda event: event.name == "trouble" and "not running" in event.data)
                launcher.ensure(data_dir)
                until(events, lambda event: event.name == "well")
                launcher.stop(data_dir)
                until(events, lambda event: event.name == "trouble")
                scene = Scene(launcher.ensure(data_dir))
                scene.bucket("after-the-restart")
                until(events, lambda event: event.name == "parts" and "after-the-restart" in str(event.data))
            assert dashboard.ask("/").status == 200
    finally:
        launcher.stop(data_dir)


def test_an_open_page_counts_by_a_clock_that_is_advanced_elsewhere(
    dashboard: Dashboard, emulator: Emulator
) -> None:
    control = Control(url=emulator.url, token=emulator.token)
    try:
        with dashboard.events(live(dashboard.text("/"), "/")) as events:
            until(events, lambda event: event.name == "ahead" and event.data < 1)
            control.advance_clock(86_400)
            until(events, lambda event: event.name == "ahead" and event.data > 86_399)
    finally:
        control.reset_clock()
