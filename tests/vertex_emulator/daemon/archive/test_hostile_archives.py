"""Archives of an emulator's state that somebody else made."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.archives.exported_state import LINE, assert_empty, exported, objects
from support.emulated.archives.members import (
    Edit,
    Members,
    changed,
    control,
    packed,
    send,
    with_member,
    with_sql,
    without,
)
from support.emulated.emulator import ask, call, running
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """Return the members of a valid snapshot with one job and one object."""
    return exported(tmp_path_factory.mktemp("good"), "hello")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Run an emulator that rejects every import, and stays empty."""
    with running(tmp_path_factory.mktemp("target")) as daemon:
        yield daemon
        assert_empty(daemon)


def test_the_good_one_is_good(good: Members, tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        path = tmp_path / "good.tar"
        path.write_bytes(packed(good))
        assert control(daemon).import_state(path)["objects"] == 1
        assert [content for _, content in objects(daemon, "some-bucket").values()] == [b"hello"]


def of_job(name: str, data: bytes) -> Edit:
    """Return an edit that sets a file of the job."""

    def edit(members: Members) -> None:
        job_id = next(each for each in members if each.startswith("jobs/")).split("/")[1]
        members[f"jobs/{job_id}/{name}"] = data

    return edit


def replica_changed(**values: Any) -> Edit:
    replica = {"name": "workerpool0-0", "role": "chief", "state": "succeeded", **values}
    return of_job("state.json", json.dumps({"replicas": [replica]}).encode())


def line_changed(**values: Any) -> Edit:
    return of_job("logs/service.jsonl", json.dumps({**LINE, **values}).encode() + b"\n")


def object_set(**values: object) -> Edit:
    quoted = {name: str(value).replace("'", "''") for name, value in values.items()}
    return with_sql(
        "UPDATE storage_objects SET " + ", ".join(f"{name} = '{value}'" for name, value in quoted.items())
    )


CONTENT = f"objects/{1:032x}"


@every_row(
    ("edit", "says"),
    [
        pytest.param(with_member("/etc/passwd"), "'/etc/passwd' is not the name", id="absolute path"),
        pytest.param(with_member("jobs/../../x.json"), "is not the name of a member", id="path out of it"),
        pytest.param(of_job("logs/../x.jsonl", b""), "is not the name of a member", id="out of logs"),
        pytest.param(of_job("plan.json", b"{}"), "is not the name of a member", id="another file"),
        pytest.param(with_member("jobs/7/logs/a.jsonl", b""), "the job 7, which is not", id="no such job"),
        pytest.param(with_member(f"objects/{2:032x}", b""), "belongs to no object", id="content of nothing"),
        pytest.param(without(CONTENT), "its content is missing", id="no content"),
        pytest.param(without("state.sqlite3"), "it ends too early", id="no database"),
        pytest.param(without("manifest.json"), "manifest.json must be the first", id="no manifest"),
        pytest.param(changed("manifest.json", format="other"), "is not the manifest of", id="format"),
        pytest.param(changed("manifest.json", version=True), "it has version True", id="version true"),
        pytest.param(changed("manifest.json", version=2), "it has version 2", id="version"),
        pytest.param(
            changed("manifest.json", tables={}, package="vertex-training 0.0.1"),
            "Import it with vertex-training 0.0.1, which wrote it",
            id="other tables",
        ),
        pytest.param(changed("manifest.json", tables=[]), "have version None", id="no tables"),
        pytest.param(with_member(CONTENT, b"HELLO"), "it is damaged", id="other content"),
        pytest.param(with_member(CONTENT, b"hello!"), "it is damaged", id="more content"),
        pytest.param(of_job("state.json", b"[]"), "is not a JSON object", id="no object"),
        pytest.param(of_job("state.json", b"{"), "is not JSON", id="no JSON"),
        pytest.param(of_job("state.json", b"[" * 100_000), "is not JSON", id="nested too deeply"),
        pytest.param(of_job("state.json", b'{"replicas": [{"name": 1}]}'), "a replica", id="replica"),
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
        pytest.param(of_job("logs/service.jsonl", b"x" * 400_000), "too long", id="endless line"),
        pytest.param(with_member("state.sqlite3", b"x" * 5000), "its database is damaged", id="no SQLite"),
        pytest.param(with_member("state.sqlite3", b""), "has other tables", id="empty database"),
        pytest.param(with_sql("CREATE VIEW v AS SELECT 1"), "has other tables", id="view"),
        pytest.param(
            with_sql("CREATE TRIGGER t AFTER INSERT ON custom_jobs BEGIN DELETE FROM storage_buckets; END"),
            "has other tables",
            id="trigger",
        ),
        pytest.param(with_sql("DROP TABLE models"), "has other tables", id="no table"),
        pytest.param(with_sql("ALTER TABLE models ADD COLUMN x"), "has other tables", id="column"),
        pytest.param(
            with_sql("UPDATE custom_jobs SET id = '../../x'"), "'../../x' is not the id", id="path as id"
        ),
        pytest.param(
            with_sql("UPDATE custom_jobs SET id = x'00'"), "custom_jobs.id has values", id="bytes as id"
        ),
        pytest.param(
            with_sql("UPDATE custom_jobs SET message = 'x'"), "custom_jobs.message has", id="text as message"
        ),
        pytest.param(with_sql("UPDATE custom_jobs SET project = 'a/b'"), "is not a project", id="project"),
        pytest.param(with_sql("UPDATE custom_jobs SET location = 'moon'"), "not a location", id="region"),
        pytest.param(
            with_sql("UPDATE storage_buckets SET name = '../../etc'"), "Invalid bucket name", id="bucket name"
        ),
        pytest.param(with_sql("UPDATE storage_buckets SET settings = '[]'"), "bucket", id="bucket settings"),
        pytest.param(with_sql("UPDATE storage_buckets SET settings = '{'"), "bucket", id="no settings"),
        pytest.param(with_sql("UPDATE storage_buckets SET created = 'now'"), "bucket", id="time"),
        pytest.param(object_set(name=".."), "must not be '..'", id="object name"),
        pytest.param(object_set(bucket="another"), "'another' is missing", id="bucket of an object"),
        pytest.param(object_set(generation=0), "must be whole numbers from 1", id="generation"),
        pytest.param(object_set(incoming="../../../x"), "its content is missing", id="path as file"),
        pytest.param(object_set(aside="../../../x"), "cannot be imported", id="path aside"),
        pytest.param(object_set(settings='{"x": 1}'), "'x' of an object", id="object settings"),
        pytest.param(object_set(settings='{"contentType": "a\\r\\nb"}'), "control characters", id="header"),
    ],
)
def test_an_archive_that_is_wrong(good: Members, target: Daemon, edit: Edit, says: str) -> None:
    members = dict(good)
    edit(members)
    assert says in send(target, packed(members))
    assert_empty(target)


def test_a_line_that_is_not_unicode_is_left_out(good: Members, tmp_path: Path) -> None:
    members = dict(good)
    odd, whole = ({**LINE, "n": number, "m": text} for number, text in ((0, "\ud800"), (1, "hello")))
    lines = "".join(json.dumps(each) + "\n" for each in (odd, whole)).encode()
    name = next(each for each in members if each.endswith("workerpool0-0.jsonl"))
    members[name] = lines
    archive = tmp_path / "state.tar"
    archive.write_bytes(packed(members))
    with running(tmp_path / "other") as other:
        control(other).import_state(archive)
        job_id = name.split("/")[1]
        query = {"resourceNames": ["projects/local"], "filter": f'resource.labels.job_id="{job_id}"'}
        answer = ask(other, "POST", "/v2/entries:list", query)
        entries = answer.json()["entries"]
        found = [each["jsonPayload"]["message"] for each in entries if "workerpool0-0" in str(each)]
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
        pytest.param(packed({"manifest.json": b"{}"})[:513], "it ends in the middle", id="cut short"),
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


def test_a_link_behind_what_is_right(good: Members, target: Daemon) -> None:
    whole = packed(good)
    end = 512 + len(good["manifest.json"]) + -len(good["manifest.json"]) % 512
    assert "is not a plain file" in send(target, whole[:end] + headers(tarfile.SYMTYPE, linkname="/tmp"))
    assert_empty(target)


def test_a_document_is_no_archive(target: Daemon) -> None:
    answer = ask(target, "POST", "/_local/import", {})
    assert (answer.status, "application/x-tar" in answer.message) == (415, True)
    assert call(target.url, "POST", "/_local/import", body=b"", token=None).status == 401
