"""The jobs and buckets of an emulator, and a small snapshot of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.emulated.archives.members import Members, control, unpacked
from support.emulated.emulator import ask, found_sandbox
from support.emulated.job_emulator import pool, running_jobs
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon

BUCKETS = "/storage/v1/b?project=local"


def get(daemon: Daemon, path: str) -> Any:
    return ask(daemon, "GET", path).ok().json()


def objects(daemon: Daemon, bucket: str) -> dict[tuple[str, str], Any]:
    """Return all versions with their content, without their links, which contain the port."""
    listed = get(daemon, f"/storage/v1/b/{bucket}/o?versions=true").get("items", [])
    found = {}
    for each in listed:
        path = f"/storage/v1/b/{bucket}/o/{each['name'].replace('/', '%2F')}"
        query = f"?alt=media&generation={each['generation']}"
        content = ask(daemon, "GET", path + query).body
        fields = {name: value for name, value in each.items() if not name.endswith("Link")}
        found[each["name"], each["generation"]] = (fields, content)
    return found


def buckets(daemon: Daemon) -> list[Any]:
    listed = get(daemon, BUCKETS).get("items", [])
    return [{name: value for name, value in each.items() if name != "selfLink"} for each in listed]


def assert_empty(daemon: Daemon) -> None:
    assert get(daemon, "/_local/jobs") == {"jobs": []}
    assert buckets(daemon) == []
    for folder in (daemon.folder.jobs, daemon.folder.incoming, daemon.folder.aside, daemon.folder.buckets):
        # Folders of deleted jobs are removed in the background.
        eventually(lambda folder=folder: not list(folder.iterdir()), what=lambda folder=folder: folder)


LINE = {"t": "2026-01-01T00:00:00.000000Z", "s": "INFO", "n": 0, "m": "hello"}


def exported(folder: Path, *names: str) -> Members:
    """Return the members of a snapshot with a job that has ended and a bucket with objects of these names."""
    with running_jobs(folder, sandbox=found_sandbox()) as emulator:
        daemon = emulator.daemon
        assert emulator.call("POST", BUCKETS, {"name": "some-bucket"}).status == 200
        for name in names:
            path = f"/upload/storage/v1/b/some-bucket/o?uploadType=media&name={name}"
            ask(daemon, "POST", path, b"hello").ok()
        emulator.wait(emulator.create(pool("pass")))
        control(daemon).export_state(folder / "state.tar")
    return unpacked(folder / "state.tar")
