"""The overview reads again only what has changed, and shows the same as if it had read everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.source import inventory
from pulumi_vertex_training.ui.source.inventory import Inventory
from pulumi_vertex_training.ui.source.live_inventory import LiveInventory
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.target import Choice
from support.emulated.job_emulator import pool
from support.emulated.ui.scene import FLAG, Scene, owned
from support.waiting import eventually
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    made = Scene(emulator)
    made.bucket("flags")
    return made


@pytest.fixture(scope="module")
def endpoint(data_dir: Path, emulator: Emulator) -> Endpoint:
    return target.resolve(Choice(kind="emulator", project="local", location="us-central1", data_dir=data_dir))


@pytest.fixture(scope="module")
def live() -> LiveInventory:
    return LiveInventory(clock=lambda: 0.0)  # no second look at reports


@pytest.fixture(autouse=True)
def same(live: LiveInventory, endpoint: Endpoint) -> Iterator[None]:
    """Check at the end of each test that both show the same."""
    live.read(endpoint)
    yield
    eventually(lambda: live.read(endpoint) == inventory.read(endpoint))  # jobs go on between the two


def keys(found: Inventory) -> list[str]:
    return [job.key for job in found.jobs]


def requests_of(scene: Scene, endpoint: Endpoint, live: LiveInventory) -> list[str]:
    """Read the inventory. Return the paths that it asked for, without the emulator's own."""
    seen = max((one["number"] for one in scene.requests()), default=0)
    live.read(endpoint)
    paths = [one["target"].partition("?")[0] for one in scene.requests(after=seen)]
    return [path for path in paths if not path.startswith("/_local/")]


def test_a_new_job_is_read_alone(scene: Scene, endpoint: Endpoint, live: LiveInventory) -> None:
    scene.call("PUT", "/_local/start-delay", {"seconds": 86400})
    key = scene.create(pool(""), name="waits", labels=owned("waits"))
    asked = requests_of(scene, endpoint, live)
    assert [path for path in asked if "customJobs" in path] == [f"/v1/{endpoint.parent}/{key}"]
    assert keys(live.read(endpoint))[0] == key
    assert requests_of(scene, endpoint, live) == []
    scene.call("PUT", "/_local/start-delay", {"seconds": 0})


def test_states_and_deletions_are_seen(scene: Scene, endpoint: Endpoint, live: LiveInventory) -> None:
    key = scene.create(pool(FLAG.format(name="end")), name="runs", labels=owned("runs"))

    def state() -> str:
        return next(job.state for job in live.read(endpoint).jobs if job.key == key)

    eventually(lambda: state() == "RUNNING", what=state)
    scene.raise_flag("end")
    eventually(lambda: state() == "SUCCEEDED", what=state)
    assert live.read(endpoint) == inventory.read(endpoint)
    scene.call("DELETE", f"/v1/{endpoint.parent}/{key}")
    eventually(lambda: key not in keys(live.read(endpoint)), what=lambda: keys(live.read(endpoint)))


def test_buckets_are_seen_and_no_job_is_read(scene: Scene, endpoint: Endpoint, live: LiveInventory) -> None:
    scene.bucket("another")
    asked = requests_of(scene, endpoint, live)
    assert not [path for path in asked if "customJobs" in path], asked
    assert "another" in [bucket.name for bucket in live.read(endpoint).buckets]


def test_many_changes_at_once_are_listed(scene: Scene, endpoint: Endpoint, live: LiveInventory) -> None:
    scene.call("PUT", "/_local/start-delay", {"seconds": 86400})
    made = [scene.create(pool(""), name="many") for _ in range(60)]
    asked = requests_of(scene, endpoint, live)
    assert len([path for path in asked if "customJobs" in path]) == 1, asked
    assert set(made) <= set(keys(live.read(endpoint)))
    scene.call("PUT", "/_local/start-delay", {"seconds": 0})


def test_a_reader_waits_for_a_change_and_gets_its_name(scene: Scene, endpoint: Endpoint) -> None:
    known = emulator_api.changes_after(endpoint, None)
    assert known.is_everything
    key = scene.create(pool(FLAG.format(name="later")), name="later")
    found = emulator_api.changes_after(endpoint, known, wait_seconds=20)
    assert found.number > known.number and key in (found.names or ())
    scene.wait(key, "JOB_STATE_RUNNING")
    scene.raise_flag("later")
    states = []

    def ended() -> bool:
        nonlocal found
        found = emulator_api.changes_after(endpoint, found, wait_seconds=20)
        states.append(scene.get(key)["state"] if key in (found.names or ()) else "")
        return states[-1] == "JOB_STATE_SUCCEEDED"

    eventually(ended, what=lambda: states)

    def without_change() -> bool:
        nonlocal found
        found = emulator_api.changes_after(endpoint, found)
        return found.names == ()

    eventually(without_change, what=lambda: found)  # the state may be read before its change is announced


def test_a_number_of_another_start_means_everything(scene: Scene, endpoint: Endpoint) -> None:
    known = emulator_api.changes_after(endpoint, None)
    other = emulator_api.Changes(instance="another", number=known.number, names=())
    assert emulator_api.changes_after(endpoint, other).is_everything
    later = emulator_api.Changes(instance=known.instance, number=known.number + 10**6, names=())
    assert emulator_api.changes_after(endpoint, later).is_everything
    assert scene.call("GET", "/_local/changes?after=x").status == 400
