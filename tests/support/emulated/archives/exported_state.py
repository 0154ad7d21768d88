"""The jobs and buckets of an emulator, and a small archive of them."""

from __future__ import annotations

import json
from typing import Any

from support.emulated.archives.members import Members
from support.emulated.emulator import call
from support.emulated.job_emulator import job, pool
from support.waiting import eventually
from vertex_emulator.daemon import Daemon

BUCKETS = "/storage/v1/b?project=local"


def get(daemon: Daemon, path: str) -> Any:
    answer = call(daemon.url, "GET", path, token=daemon.token)
    assert answer.status == 200, answer.body
    return answer.json()


def objects(daemon: Daemon, bucket: str) -> dict[tuple[str, str], Any]:
    """Return all versions with their content, without their links, which contain the port."""
    listed = get(daemon, f"/storage/v1/b/{bucket}/o?versions=true").get("items", [])
    found = {}
    for each in listed:
        path = f"/storage/v1/b/{bucket}/o/{each['name'].replace('/', '%2F')}"
        query = f"?alt=media&generation={each['generation']}"
        content = call(daemon.url, "GET", path + query, token=daemon.token).body
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


ID = "1234567890123456789"
JOB = {
    "project": "local",
    "location": "us-central1",
    "job": {
        "name": f"projects/123456789012/locations/us-central1/customJobs/{ID}",
        "state": "JOB_STATE_SUCCEEDED",
        "createTime": "2026-01-01T00:00:00Z",
        **job(pool("pass")),
    },
}
BUCKET = {
    "name": "some-bucket",
    "project": "local",
    "generation": 1,
    "metageneration": 1,
    "created": "2026-01-01T00:00:00.000Z",
    "updated": "2026-01-01T00:00:00.000Z",
    "settings": {},
}
OBJECT = {
    "bucket": "some-bucket",
    "name": "hello",
    "generation": 2,
    "metageneration": 1,
    "live": True,
    "crc32c": "mnG7TA==",
    "md5": "XUFAKrxLKna5cZ2REBfFkg==",
    "created": "2026-01-01T00:00:00.000Z",
    "updated": "2026-01-01T00:00:00.000Z",
    "settings": {},
}
LINE = {"t": "2026-01-01T00:00:00.000000Z", "s": "INFO", "n": 0, "m": "hello"}


def good() -> Members:
    """Return the members of a small valid archive of the first version."""
    project_number = "123456789012"
    return {
        "manifest.json": b'{"format": "vertex-training emulator state", "version": 1}',
        f"jobs/{ID}.json": json.dumps({**JOB, "project": project_number}).encode(),
        f"jobs/{ID}/state.json": b'{"events": [], "replicas": []}',
        f"jobs/{ID}/logs/workerpool0-0.jsonl": json.dumps(LINE).encode() + b"\n",
        "buckets/0.json": json.dumps(BUCKET).encode(),
        "objects/1.json": json.dumps(OBJECT).encode(),
        "objects/1": b"hello",
    }
