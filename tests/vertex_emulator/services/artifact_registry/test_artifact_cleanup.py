"""Scheduled cleanup by the emulator's clock, restarts and resets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask, running
from support.emulated.registries.artifacts import HOST, PARENT, create, push, push_index
from support.waiting import eventually
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.daemon.daemon import Daemon

DAY = 24 * 3600
UNTAGGED = {"cleanupPolicies": {"loose": {"action": "DELETE", "condition": {"tagState": "UNTAGGED"}}}}
OLD = {
    "cleanupPolicies": {
        "old": {"action": "DELETE", "condition": {"olderThan": f"{30 * DAY}s"}},
        "recent": {"action": "KEEP", "mostRecentVersions": {"keepCount": 1}},
    }
}


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Daemon]:
    """Yield an emulator of its own, whose clock the test may set."""
    with running(tmp_path / "data") as daemon:
        yield daemon


def pass_time(daemon: Daemon, days: float) -> None:
    ask(daemon, "POST", "/_local/clock/advance", {"seconds": days * DAY}).ok()


def versions(daemon: Daemon, name: str) -> set[str]:
    found = ask(daemon, "GET", f"/v1/{PARENT}/repositories/{name}/dockerImages").json()
    return {each["uri"].rpartition("@")[2] for each in found.get("dockerImages", [])}


def settled(daemon: Daemon, name: str, expected: set[str]) -> None:
    eventually(lambda: versions(daemon, name) == expected, what=lambda: str(versions(daemon, name)))


def control(daemon: Daemon) -> Control:
    return Control(url=daemon.url, token=daemon.token)


def uri(name: str) -> str:
    return f"{HOST}/local/{name}/trainer"


def due_at(daemon: Daemon, name: str) -> int | None:
    """Return the time of the next cleanup of a repository, from the record that survives a restart."""
    row = daemon.artifacts.store._database.row(
        "SELECT cleanup_at FROM artifact_repositories WHERE id = ?", (name,)
    )
    return row["cleanup_at"] if row else None


@pytest.mark.parity(
    "Artifact Registry: cleanup policies",
    same="a day after they were set, then every day, by the emulator's clock",
)
def test_the_first_cleanup_is_a_day_after_the_policies_were_set(emulator: Daemon) -> None:
    create(emulator, "images", **UNTAGGED)
    tagged = push(emulator, uri("images"), "v1")
    push(emulator, uri("images"), layer=b"other")
    pass_time(emulator, 1.01)
    settled(emulator, "images", {tagged.digest})


def test_no_cleanup_within_a_day(emulator: Daemon) -> None:
    create(emulator, "images", **UNTAGGED)
    create(emulator, "earlier", **UNTAGGED)
    pass_time(emulator, 0.5)
    ask(emulator, "PATCH", f"/v1/{PARENT}/repositories/images?updateMask=cleanupPolicies", OLD)
    ask(emulator, "PATCH", f"/v1/{PARENT}/repositories/images?updateMask=cleanupPolicies", UNTAGGED)
    kept, gone = push(emulator, uri("images")), push(emulator, uri("earlier"))
    pass_time(emulator, 0.6)
    settled(emulator, "earlier", set())
    assert gone.digest == kept.digest
    assert versions(emulator, "images") == {kept.digest}


def test_a_cleanup_every_day(emulator: Daemon) -> None:
    create(emulator, "images", **OLD)
    push(emulator, uri("images"), "v1")
    pass_time(emulator, 20)
    second = push(emulator, uri("images"), "v2", layer=b"2")
    pass_time(emulator, 20)
    settled(emulator, "images", {second.digest})


def test_parts_of_an_index_are_kept_with_it(emulator: Daemon) -> None:
    create(emulator, "images", **UNTAGGED)
    part = push(emulator, uri("images"))
    whole = push_index(emulator, uri("images"), "v1", images=[part])
    push(emulator, uri("images"), layer=b"loose")
    pass_time(emulator, 1.01)
    settled(emulator, "images", {part.digest, whole.digest})


@pytest.mark.parity("Artifact Registry: cleanup policies")
def test_a_dry_run_only_logs(emulator: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    create(emulator, "images", cleanupPolicyDryRun=True, **UNTAGGED)
    pushed = push(emulator, uri("images"))
    with caplog.at_level(logging.INFO):
        pass_time(emulator, 1.01)
        eventually(lambda: "would delete trainer@" in caplog.text)
    assert versions(emulator, "images") == {pushed.digest}


@pytest.mark.parity("Artifact Registry: immutable tags")
def test_immutable_tags_keep_their_versions(emulator: Daemon) -> None:
    policies = {"all": {"action": "DELETE", "condition": {"tagState": "ANY"}}}
    create(emulator, "images", cleanupPolicies=policies, dockerConfig={"immutableTags": True})
    tagged = push(emulator, uri("images"), "v1")
    push(emulator, uri("images"), layer=b"other")
    pass_time(emulator, 1.01)
    settled(emulator, "images", {tagged.digest})


def test_without_policies_no_cleanup_is_scheduled(emulator: Daemon) -> None:
    create(emulator, "images", **UNTAGGED)
    assert due_at(emulator, "images") is not None
    ask(emulator, "PATCH", f"/v1/{PARENT}/repositories/images?updateMask=cleanupPolicies", {})
    assert due_at(emulator, "images") is None


def test_setting_the_clock_back_moves_cleanups(emulator: Daemon) -> None:
    """Check that no cleanup is more than a day away after the clock was set back."""
    pass_time(emulator, 400)
    create(emulator, "images", **UNTAGGED)
    ask(emulator, "POST", "/_local/clock/reset", {})
    at = due_at(emulator, "images")
    assert at is not None
    assert at <= emulator.clock.microseconds() + DAY * 1_000_000


def test_a_cleanup_that_was_due_while_the_emulator_was_stopped(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        create(daemon, "images", **UNTAGGED)
        push(daemon, uri("images"))
        ask(daemon, "POST", "/_local/clock/freeze", {})
        daemon.scheduler.close()
        pass_time(daemon, 2)
    with running(tmp_path / "data") as daemon:
        settled(daemon, "images", set())


# --- restart and reset


def state(daemon: Daemon) -> dict[str, Any]:
    repository = f"/v1/{PARENT}/repositories/images"
    paths = ["", ":getIamPolicy", "/packages", "/packages/trainer/tags", "/files", "/dockerImages"]
    return {path: ask(daemon, "GET", f"{repository}{path}").json() for path in paths}


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        create(daemon, "images", labels={"a": "b"}, **OLD)
        push(daemon, uri("images"), "v1")
        binding = {"role": "roles/artifactregistry.reader", "members": ["allUsers"]}
        path = f"/v1/{PARENT}/repositories/images"
        ask(daemon, "POST", f"{path}:setIamPolicy", {"policy": {"bindings": [binding]}})
        ask(daemon, "PATCH", f"{path}/packages/trainer", {"annotations": {"a": "b"}})
        before = state(daemon)
    with running(tmp_path / "data") as daemon:
        assert state(daemon) == before
    assert before["/dockerImages"]["dockerImages"][0]["tags"] == ["v1"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"/v1/{PARENT}/repositories", id="repositories"),
        pytest.param("/v2/_catalog", id="images"),
    ],
)
def test_a_reset_removes_all(emulator: Daemon, path: str) -> None:
    create(emulator, "images")
    push(emulator, uri("images"), "v1")
    assert any(ask(emulator, "GET", path).json().values())
    ask(emulator, "POST", "/_local/reset", {})
    assert not any(ask(emulator, "GET", path).json().values())


def test_an_export_has_all(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        create(daemon, "images", labels={"a": "b"}, **OLD)
        push(daemon, uri("images"), "v1")
        binding = {"role": "roles/artifactregistry.reader", "members": ["allUsers"]}
        path = f"/v1/{PARENT}/repositories/images"
        ask(daemon, "POST", f"{path}:setIamPolicy", {"policy": {"bindings": [binding]}})
        ask(daemon, "PATCH", f"{path}/packages/trainer", {"annotations": {"a": "b"}})
        before = state(daemon)
        control(daemon).export_state(tmp_path / "archive")
    with running(tmp_path / "other") as daemon:
        assert control(daemon).import_state(tmp_path / "archive")["repositories"] == 1
        assert state(daemon) == before


def test_an_import_into_an_emulator_with_a_repository(emulator: Daemon, tmp_path: Path) -> None:
    create(emulator, "images")
    control(emulator).export_state(tmp_path / "archive")
    with pytest.raises(ControlError, match="it has artifact repositories"):
        control(emulator).import_state(tmp_path / "archive")


def test_after_a_reset_a_repository_is_empty(emulator: Daemon) -> None:
    create(emulator, "images")
    push(emulator, uri("images"), "v1")
    ask(emulator, "POST", "/_local/reset", {})
    create(emulator, "images")
    assert versions(emulator, "images") == set()
