"""Archives of an emulator's state that somebody else made."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.archives.exported_state import BUCKET, ID, LINE, assert_empty, good, objects
from support.emulated.archives.members import (
    Edit,
    Members,
    changed,
    control,
    packed,
    send,
    with_member,
    without,
)
from support.emulated.emulator import call, running
from support.tables import every_row
from vertex_emulator.daemon import Daemon


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Run an emulator that rejects every import, and stays empty."""
    with running(tmp_path_factory.mktemp("target")) as daemon:
        yield daemon
        assert_empty(daemon)


def test_the_good_one_is_good(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        path = tmp_path / "good.tar"
        path.write_bytes(packed(good()))
        assert control(daemon).import_state(path)["objects"] == 1
        assert [content for _, content in objects(daemon, "some-bucket").values()] == [b"hello"]


def job_changed(**values: Any) -> Edit:
    def edit(members: Members) -> None:
        value = json.loads(members[f"jobs/{ID}.json"])
        value["job"].update(values)
        members[f"jobs/{ID}.json"] = json.dumps(value).encode()

    return edit


def replica_changed(**values: Any) -> Edit:
    replica = {"name": "workerpool0-0", "role": "chief", "state": "succeeded", **values}
    return with_member(f"jobs/{ID}/state.json", json.dumps({"replicas": [replica]}).encode())


def line_changed(**values: Any) -> Edit:
    return with_member(f"jobs/{ID}/logs/service.jsonl", json.dumps({**LINE, **values}).encode() + b"\n")


@every_row(
    ("edit", "says"),
    [
        pytest.param(with_member("/etc/passwd"), "'/etc/passwd' is not the name", id="absolute path"),
        pytest.param(with_member("jobs/../../x.json"), "is not the name of a member", id="path out of it"),
        pytest.param(
            with_member(f"jobs/{ID}/logs/../x.jsonl"), "is not the name of a member", id="out of logs"
        ),
        pytest.param(with_member(f"jobs/{ID}/plan.json"), "is not the name of a member", id="another file"),
        pytest.param(with_member("state.sqlite3"), "is not the name of a member", id="a database"),
        pytest.param(with_member("jobs/7/state.json"), "comes before its job", id="state without a job"),
        pytest.param(with_member("jobs/7/logs/a.jsonl", b""), "comes before its job", id="log without a job"),
        pytest.param(with_member("objects/2", b""), "comes without its fields", id="content without fields"),
        pytest.param(without("objects/1"), "it ends too early", id="fields without content"),
        pytest.param(
            without("buckets/0.json"), "the bucket 'some-bucket' does not come before", id="no bucket"
        ),
        pytest.param(without("manifest.json"), "manifest.json must be the first", id="no manifest"),
        pytest.param(changed("manifest.json", format="other"), "is not the manifest of", id="format"),
        pytest.param(changed("manifest.json", version=True), "it has version True", id="version true"),
        pytest.param(changed("manifest.json", version=3), "it has version 3", id="version"),
        pytest.param(with_member("objects/1", b"HELLO"), "objects/1 is damaged", id="other content"),
        pytest.param(with_member("objects/1", b"hello!"), "objects/1 is damaged", id="more content"),
        pytest.param(changed("objects/1.json", name=""), "name must be a string", id="no object name"),
        pytest.param(changed("objects/1.json", name=".."), "must not be '..'", id="object name"),
        pytest.param(changed("objects/1.json", generation=0), "generation must be", id="generation"),
        pytest.param(changed("objects/1.json", generation=1 << 63), "generation must be", id="too high"),
        pytest.param(changed("objects/1.json", live="yes"), "live must be", id="live"),
        pytest.param(changed("objects/1.json", live=False), "deleted must be", id="not live, not deleted"),
        pytest.param(changed("objects/1.json", settings={"x": 1}), "'x' of an object", id="object settings"),
        pytest.param(
            changed("objects/1.json", settings={"contentType": "a\r\nb"}), "control characters", id="header"
        ),
        pytest.param(changed("buckets/0.json", name="../../etc"), "Invalid bucket name", id="bucket name"),
        pytest.param(changed("buckets/0.json", settings=[]), "settings must be", id="bucket settings"),
        pytest.param(changed("buckets/0.json", created="now"), "which is not a time", id="time"),
        pytest.param(with_member("buckets/1.json", json.dumps(BUCKET).encode()), "occurs twice", id="twice"),
        pytest.param(with_member("buckets/0.json", b"[]"), "is not a JSON object", id="no object"),
        pytest.param(with_member("buckets/0.json", b"{"), "is not JSON", id="no JSON"),
        pytest.param(with_member("buckets/0.json", b"[" * 100_000), "is not JSON", id="nested too deeply"),
        pytest.param(changed(f"jobs/{ID}.json", project="a/b"), "is not a project", id="project"),
        pytest.param(changed(f"jobs/{ID}.json", location="moon"), "is not a location", id="region"),
        pytest.param(changed(f"jobs/{ID}.json", job=None), "has no custom job", id="no job"),
        pytest.param(job_changed(name="projects/1/locations/us-central1/customJobs/1"), "another", id="name"),
        pytest.param(
            job_changed(state="JOB_STATE_PAUSED"), "no jobs in the state JOB_STATE_PAUSED", id="state"
        ),
        pytest.param(job_changed(nothing=1), "has no custom job", id="unknown field"),
        pytest.param(
            with_member(f"jobs/{ID}/state.json", b'{"replicas": [{"name": 1}]}'), "a replica", id="replica"
        ),
        pytest.param(replica_changed(exit_code=""), "a replica", id="exit code"),
        pytest.param(replica_changed(exit_code=False), "a replica", id="exit code false"),
        pytest.param(replica_changed(started="soon"), "a replica", id="start of a replica"),
        pytest.param(replica_changed(ended=False), "a replica", id="end of a replica"),
        pytest.param(replica_changed(job_attempt=1.5), "a replica", id="attempt of the job"),
        pytest.param(replica_changed(state=[]), "a replica", id="state of a replica"),
        pytest.param(line_changed(t="never"), "is not an entry of a log", id="time of a log"),
        pytest.param(
            line_changed(t="2026-13-01T00:00:00.000000Z"), "is not an entry of a log", id="month of a log"
        ),
        pytest.param(line_changed(s="LOUD"), "is not an entry of a log", id="severity"),
        pytest.param(line_changed(n=-1), "is not an entry of a log", id="number below 0"),
        pytest.param(line_changed(n=10**9), "is not an entry of a log", id="number too high"),
        pytest.param(line_changed(n=True), "is not an entry of a log", id="number true"),
        pytest.param(line_changed(m=1), "is not an entry of a log", id="message"),
        pytest.param(
            with_member(f"jobs/{ID}/logs/service.jsonl", b"x" * 400_000), "too long", id="endless line"
        ),
    ],
)
def test_an_archive_that_is_wrong(target: Daemon, edit: Edit, says: str) -> None:
    members = good()
    edit(members)
    assert says in send(target, packed(members))
    assert_empty(target)


def test_a_line_that_is_not_unicode_is_left_out(tmp_path: Path) -> None:
    members = good()
    odd, whole = ({**LINE, "n": number, "m": text} for number, text in ((0, "\ud800"), (1, "hello")))
    lines = "".join(json.dumps(each) + "\n" for each in (odd, whole))
    members[f"jobs/{ID}/logs/workerpool0-0.jsonl"] = lines.encode()
    archive = tmp_path / "state.tar"
    archive.write_bytes(packed(members))
    with running(tmp_path / "other") as other:
        control(other).import_state(archive)
        query = {"resourceNames": ["projects/123456789012"], "filter": f'resource.labels.job_id="{ID}"'}
        answer = call(other.url, "POST", "/v2/entries:list", body=query, token=other.token)
        found = [entry["jsonPayload"]["message"] for entry in answer.json()["entries"]]
        assert (answer.status, found) == (200, ["hello"])


def headers(kind: bytes, *, linkname: str = "", name: str = "objects/2", size: int = 0) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, linkname, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"", "it ends in the middle", id="nothing"),
        pytest.param(b"x" * 512, "it is not a tar file", id="no tar"),
        pytest.param(bytes(1024), "it ends too early", id="an end only"),
        pytest.param(packed(good())[:2000], "it ends in the middle", id="cut short"),
        pytest.param(headers(tarfile.SYMTYPE, linkname="/etc/passwd"), "is not a plain file", id="symlink"),
        pytest.param(headers(tarfile.LNKTYPE, linkname="manifest.json"), "not a plain file", id="hard link"),
        pytest.param(headers(tarfile.DIRTYPE), "is not a plain file", id="folder"),
        pytest.param(headers(tarfile.FIFOTYPE), "is not a plain file", id="pipe"),
        pytest.param(headers(tarfile.BLKTYPE), "is not a plain file", id="device"),
        pytest.param(headers(tarfile.GNUTYPE_SPARSE), "is not a plain file", id="sparse file"),
        pytest.param(headers(tarfile.XHDTYPE, size=1 << 40), "is not a plain file", id="extended header"),
        pytest.param(headers(tarfile.GNUTYPE_LONGNAME, size=1 << 40), "not a plain file", id="long name"),
        pytest.param(
            headers(tarfile.REGTYPE, name="manifest.json", size=1 << 40), "the limit is", id="huge document"
        ),
        pytest.param(
            headers(tarfile.REGTYPE, name="manifest.json", size=-1), "negative size", id="negative size"
        ),
    ],
)
def test_bytes_that_are_no_archive(target: Daemon, data: bytes, says: str) -> None:
    assert says in send(target, data)
    assert_empty(target)


def test_a_link_behind_what_is_right(target: Daemon) -> None:
    whole = packed(good())
    end = whole.rindex(b"hello") + 512 - len(whole[: whole.rindex(b"hello")]) % 512
    assert "is not a plain file" in send(target, whole[:end] + headers(tarfile.SYMTYPE, linkname="/tmp"))
    assert_empty(target)


def test_a_document_is_no_archive(target: Daemon) -> None:
    answer = call(target.url, "POST", "/_local/import", body={}, token=target.token)
    assert (answer.status, "application/x-tar" in answer.message) == (415, True)
    assert call(target.url, "POST", "/_local/import", body=b"", token=None).status == 401
