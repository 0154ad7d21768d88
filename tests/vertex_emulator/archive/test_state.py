"""Export, import and reset of all that an emulator holds; and archives that somebody else made."""

from __future__ import annotations

import itertools
import json
import math
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.archives import Edit, Members, changed, control, packed, send, unpacked, with_member, without
from support.emulator import call, running
from support.job_emulator import (
    SLEEP,
    JobEmulator,
    job,
    job_id,
    pool,
    processes_of,
    raise_flag,
    running_jobs,
)
from support.steps import Steps
from support.tables import every_row
from support.waiting import eventually
from vertex_emulator.control import Control, ControlError
from vertex_emulator.custom_jobs.reconciler import Reconciler
from vertex_emulator.custom_jobs.sandbox.probe import probe
from vertex_emulator.daemon import Daemon

BUCKETS = "/storage/v1/b?project=local"


def upload(daemon: Daemon, bucket: str, name: str, data: bytes, kind: str = "text/plain") -> None:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
    answer = call(daemon.url, "POST", path, body=data, token=daemon.token, headers={"Content-Type": kind})
    assert answer.status == 200, answer.body


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


def fill(emulator: JobEmulator) -> str:
    """Create a bucket with versions, odd names and a replica's file, and an ended job with a log."""
    daemon = emulator.daemon
    versioned = {"name": "some-models", "versioning": {"enabled": True}, "labels": {"team": "a"}}
    assert emulator.call("POST", BUCKETS, versioned).status == 200
    upload(daemon, "some-models", "a", b"first")
    upload(daemon, "some-models", "a", b"second", "application/octet-stream")
    upload(daemon, "some-models", "a/b", b"below a file")
    upload(daemon, "some-models", "..%2Fup", b"no path at all")
    name = emulator.create(pool("open('/gcs/some-models/written', 'w').write('x' * 1000); print('hello')"))
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    return name


@pytest.fixture
def source(tmp_path: Path) -> Iterator[JobEmulator]:
    with running_jobs(tmp_path / "source", sandbox=probe()) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Run an emulator that rejects every import, and stays empty."""
    with running(tmp_path_factory.mktemp("target")) as daemon:
        yield daemon
        assert_empty(daemon)


def assert_empty(daemon: Daemon) -> None:
    assert get(daemon, "/_local/jobs") == {"jobs": []}
    assert buckets(daemon) == []
    for folder in (daemon.folder.jobs, daemon.folder.incoming, daemon.folder.aside, daemon.folder.buckets):
        # Folders of deleted jobs are removed in the background.
        eventually(lambda folder=folder: not list(folder.iterdir()), what=lambda folder=folder: folder)


def test_what_was_exported_is_there_again(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    size = control(source.daemon).export_state(archive)
    assert (archive.stat().st_size, archive.stat().st_mode & 0o777) == (size, 0o600)
    expected = (objects(source.daemon, "some-models"), buckets(source.daemon), source.get(name))
    assert len(expected[0]) == 5
    with running_jobs(tmp_path / "other", sandbox=probe()) as other:
        added = control(other.daemon).import_state(archive)
        expected_counts = {"jobs": 1, "endedJobs": 0, "buckets": 1, "objects": 5}
        assert added == {**expected_counts, "images": 0, "repositories": 0, "resources": {}}
        found = (objects(other.daemon, "some-models"), buckets(other.daemon), other.get(name))
        assert found == expected
        assert other.printed(name) == ["hello"]
        assert other.entries(name) == source.entries(name)
        assert other.replicas(name).keys() == source.replicas(name).keys()
        assert other.replicas(name)["workerpool0-0"]["exitCode"] == 0
        read = "print(open('/gcs/some-models/written').read() == 'x' * 1000)"
        again = other.create(pool(read))
        other.wait(again)
        assert other.printed(again) == ["True"]
        upload(other.daemon, "some-models", "a", b"third")
        assert len(objects(other.daemon, "some-models")) == 6
        assert other.delete(name).status == 200
    with running(tmp_path / "other") as restarted:
        assert len(objects(restarted, "some-models")) == 6


def test_an_archive_of_an_archive_is_the_same(source: JobEmulator, tmp_path: Path) -> None:
    fill(source)
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    control(source.daemon).export_state(first)
    with running(tmp_path / "other") as other:
        control(other).import_state(first)
        control(other).export_state(second)
    one, two = unpacked(first), unpacked(second)
    for members in (one, two):
        manifest = json.loads(members.pop("manifest.json"))
        assert (manifest["format"], manifest["version"]) == ("vertex-training emulator state", 2)
    states = [json.loads(members.pop(next(n for n in members if "state" in n))) for members in (one, two)]
    assert [each["replicas"][0]["exit_code"] for each in states] == [0, 0]
    assert one == two


def test_tar_reads_it(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    names = list(unpacked(archive))
    assert names[:3] == ["manifest.json", f"jobs/{job_id(name)}.json", f"jobs/{job_id(name)}/state.json"]
    assert f"jobs/{job_id(name)}/logs/workerpool0-0.jsonl" in names


def test_live_jobs_have_ended_after_an_import(source: JobEmulator, tmp_path: Path) -> None:
    source.call("PUT", "/_local/start-delay", {"seconds": 3600})
    waits = source.create(pool(SLEEP))
    source.call("PUT", "/_local/start-delay", {"seconds": 0})
    runs = source.create(pool(SLEEP))
    source.wait(runs, "JOB_STATE_RUNNING")
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    assert source.get(runs)["state"] == "JOB_STATE_RUNNING", "an export disturbs nobody"
    with running_jobs(tmp_path / "other", sandbox=probe()) as other:
        assert control(other.daemon).import_state(archive)["endedJobs"] == 2
        for name, state in ((runs, "JOB_STATE_RUNNING"), (waits, "JOB_STATE_PENDING")):
            found = other.get(name)
            assert found["state"] == "JOB_STATE_FAILED"
            assert found["error"]["message"].startswith(f"The job was in state {state} when it was exported;")
        assert other.replicas(runs)["workerpool0-0"]["state"] == "stopped"
        assert other.replicas(runs)["workerpool0-0"]["pid"] is None
        assert other.call("GET", "/_local/info").json()["liveJobs"] == 0
    for name in (runs, waits):
        source.cancel(name)
        source.wait(name)


def test_what_is_there_already_is_not_imported(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    before = objects(source.daemon, "some-models")
    with pytest.raises(ControlError, match=r"has bucket some-models, job [0-9]+ already") as refused:
        control(source.daemon).import_state(archive)
    assert refused.value.status == 409
    assert objects(source.daemon, "some-models") == before
    assert source.get(name)["state"] == "JOB_STATE_SUCCEEDED"
    with pytest.raises(FileExistsError):
        control(source.daemon).export_state(archive)


def test_reset_leaves_an_emulator_as_new(source: JobEmulator, tmp_path: Path) -> None:
    fill(source)
    name = source.create(pool(SLEEP))
    source.wait(name, "JOB_STATE_RUNNING")
    source.call("PUT", "/_local/start-delay", {"seconds": 3600})
    waits = source.create(pool(SLEEP))
    source.call("POST", "/_local/quotas", {"metric": "cpus", "limit": 0})
    source.call("POST", "/_local/faults", {"method": "*", "status": 503, "times": "always"})
    source.call("POST", "/_local/clock/freeze", {})
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    control(source.daemon).reset()
    assert processes_of(name) == processes_of(waits) == []
    assert_empty(source.daemon)
    counts = {"storage.buckets.list": 1}  # ours, just now
    assert get(source.daemon, "/_local/requests")["counts"] == counts
    assert get(source.daemon, "/_local/faults") == {"faults": []}
    assert get(source.daemon, "/_local/quotas") == {"quotas": []}
    assert get(source.daemon, "/_local/start-delay") == {"seconds": 0}
    assert get(source.daemon, "/_local/clock")["rate"] == 1
    control(source.daemon).import_state(archive)
    assert len(objects(source.daemon, "some-models")) == 5
    again = source.create(pool("pass"))
    assert source.wait(again)["state"] == "JOB_STATE_SUCCEEDED"


def writing_to(path: Path, steps: Steps, *, times: float) -> AbstractContextManager[None]:
    """Append to a file, as a replica does, right before an export opens it; at most `times` times."""
    left = [times]

    def write() -> None:
        if left[0] > 0:
            left[0] -= 1
            with path.open("ab") as file:
                file.write(b"more")

    return steps.doing("open object", write)


def test_an_object_that_a_replica_writes_to_is_read_again(tmp_path: Path) -> None:
    steps = Steps()
    with (
        running(tmp_path / "source", step_hook=steps) as source,
        running(tmp_path / "other") as other,
    ):
        assert call(source.url, "POST", BUCKETS, body={"name": "some-logs"}, token=source.token).status == 200
        folder = source.folder.buckets / "some-logs"
        folder.joinpath("log").write_bytes(b"x" * 1000)
        upload(source, "some-logs", "other", b"beside it")
        with writing_to(folder / "log", steps, times=2):
            control(source).export_state(tmp_path / "state.tar")
        control(other).import_state(tmp_path / "state.tar")
        found = {name: content for (name, _), (_, content) in objects(other, "some-logs").items()}
        assert found == {"log": b"x" * 1000 + b"more" * 2, "other": b"beside it"}


def test_an_object_that_a_replica_removes_is_left_out(tmp_path: Path) -> None:
    steps = Steps()
    with (
        running(tmp_path / "source", step_hook=steps) as source,
        running(tmp_path / "other") as other,
    ):
        assert call(source.url, "POST", BUCKETS, body={"name": "some-logs"}, token=source.token).status == 200
        folder = source.folder.buckets / "some-logs"
        for name in ("one", "three", "two"):
            folder.joinpath(name).write_bytes(name.encode())
        opened = itertools.count(1)

        def remove_the_second() -> None:
            if next(opened) == 2:
                folder.joinpath("three").unlink()

        with steps.doing("open object", remove_the_second):
            control(source).export_state(tmp_path / "state.tar")
        assert control(other).import_state(tmp_path / "state.tar")["objects"] == 2
        assert {name for name, _ in objects(other, "some-logs")} == {"one", "two"}


def test_an_object_that_is_written_to_without_a_pause(tmp_path: Path) -> None:
    steps = Steps()
    with running(tmp_path / "source", step_hook=steps) as source:
        assert call(source.url, "POST", BUCKETS, body={"name": "some-logs"}, token=source.token).status == 200
        folder = source.folder.buckets / "some-logs"
        folder.joinpath("log").write_bytes(b"x" * 1000)
        with (
            writing_to(folder / "log", steps, times=math.inf),
            pytest.raises(ControlError, match="writes to gs://some-logs/log without a pause") as refused,
        ):
            control(source).export_state(tmp_path / "state.tar")
        assert refused.value.status == 409
        assert not (tmp_path / "state.tar").exists()
        assert list(source.folder.incoming.iterdir()) == []


def test_an_object_that_a_replica_has_closed(tmp_path: Path) -> None:
    def closed() -> None:
        raise PermissionError(13, "Permission denied")

    steps = Steps()
    with running(tmp_path / "source", step_hook=steps) as source:
        assert call(source.url, "POST", BUCKETS, body={"name": "some-logs"}, token=source.token).status == 200
        upload(source, "some-logs", "log", b"x")
        with (
            steps.doing("open object", closed),
            pytest.raises(ControlError, match="file of gs://some-logs/log cannot be read") as refused,
        ):
            control(source).export_state(tmp_path / "state.tar")
        assert refused.value.status == 409


@pytest.mark.parametrize("sent", [pytest.param(b"", id="nothing"), pytest.param(b"x" * 50, id="half")])
def test_an_export_that_is_cut_short_is_none(tmp_path: Path, sent: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + sent)

        thread = threading.Thread(target=answer)
        thread.start()
        one = Control(url=f"http://127.0.0.1:{server.getsockname()[1]}", token="token")
        with pytest.raises(ControlError, match=f"ended after {len(sent)} of 100 bytes"):
            one.export_state(tmp_path / "state.tar")
        thread.join()
    assert not (tmp_path / "state.tar").exists()


def test_a_reset_starts_no_job_that_was_queued(source: JobEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    source.call("POST", "/_local/quotas", {"metric": "cpus", "limit": 4})
    runs = source.create(pool(SLEEP))
    source.wait(runs, "JOB_STATE_RUNNING")
    for _ in range(20):
        assert source.get(source.create(pool("pass")))["state"] == "JOB_STATE_QUEUED"
    begun: list[str] = []
    monkeypatch.setattr(Reconciler, "start_waiting", lambda _, job_id: begun.append(job_id))
    control(source.daemon).reset()
    assert begun == []
    assert_empty(source.daemon)
    assert get(source.daemon, "/_local/quotas") == {"quotas": []}


def test_a_reset_ends_what_is_created_meanwhile(source: JobEmulator) -> None:
    stubborn = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + raise_flag("ready") + SLEEP
    name = source.create(pool(stubborn))
    eventually((source.flags / "ready").exists)
    reset = threading.Thread(target=control(source.daemon).reset, daemon=True)
    reset.start()
    source.wait(name, "JOB_STATE_CANCELLING")
    later = source.create(pool(SLEEP))
    reset.join(timeout=10)
    assert not reset.is_alive()
    assert processes_of(later) == []
    assert_empty(source.daemon)


def test_lists_after_a_reset_are_not_those_before(source: JobEmulator) -> None:
    source.wait(source.create(pool("pass")))
    control(source.daemon).reset()
    fault = {"method": "ListCustomJobs", "stale": {"changes": 1}, "times": "always"}
    assert source.call("POST", "/_local/faults", fault).status == 200
    assert get(source.daemon, "/v1/projects/local/locations/us-central1/customJobs") == {}


def test_files_of_a_killed_import_are_removed_at_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path / "other") as other:
        other.folder.jobs.joinpath(".deleted-0123").mkdir()
        other.folder.incoming.joinpath("0123").write_bytes(b"half")
    with running(tmp_path / "other") as other:
        assert_empty(other)


KILLED = """
import os, signal, sys
from pathlib import Path
from vertex_emulator.control import Control
from vertex_emulator.daemon import Daemon, Settings

folder, archive, act, fatal, left = sys.argv[1:]
left = int(left)

def kill(step):
    global left
    left -= step == fatal
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

daemon = Daemon(Settings(data_dir=Path(folder), step_hook=kill))
daemon.start()
control = Control(url=daemon.url, token=daemon.token)
if act == "reset":
    control.import_state(Path(archive))
control.reset() if act == "reset" else control.import_state(Path(archive))
"""


def killed(folder: Path, archive: Path, act: str, step: str, occurrence: int = 1) -> None:
    """Import, or import and reset, in a process that is killed right before an occurrence of a step."""
    arguments = [str(folder), str(archive), act, step, str(occurrence)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an archive with a job and 21 objects."""
    members = good()
    for number in range(2, 22):
        fields = {**OBJECT, "name": f"folder/{number}", "generation": number}
        members[f"objects/{number}.json"] = json.dumps(fields).encode()
        members[f"objects/{number}"] = b"hello"
    archive = tmp_path_factory.mktemp("many") / "state.tar"
    archive.write_bytes(packed(members))
    return archive


@pytest.mark.parametrize(
    ("step", "occurrence", "is_there"),
    [
        pytest.param("unpack object", 10, False, id="unpacking"),
        pytest.param("add archive", 1, False, id="unpacked"),
        pytest.param("make folders", 10, False, id="making folders"),
        pytest.param("record imported object", 10, False, id="recording"),
        pytest.param("commit import", 1, False, id="not committed"),
        pytest.param("move imported files", 1, True, id="committed"),
        pytest.param("put file", 9, True, id="moving files"),
        pytest.param("clean up import", 1, True, id="all but done"),
    ],
)
def test_an_emulator_killed_in_an_import_has_all_or_nothing(
    tmp_path: Path, many: Path, step: str, occurrence: int, is_there: bool
) -> None:
    folder = tmp_path / "killed"
    killed(folder, many, "import", step, occurrence)
    with running(folder) as daemon:
        if not is_there:
            assert_empty(daemon)
            return
        assert len(get(daemon, "/_local/jobs")["jobs"]) == 1
        found = objects(daemon, "some-bucket")
        assert (len(found), {content for _, content in found.values()}) == (21, {b"hello"})
        assert list(daemon.folder.incoming.iterdir()) == []


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("remove everything", id="jobs are gone"),
        pytest.param("remove all records", id="before the records"),
        pytest.param("remove all files", id="after the records"),
    ],
)
def test_an_emulator_killed_in_a_reset_can_be_reset(tmp_path: Path, many: Path, step: str) -> None:
    """Kill a reset: it leaves no file that a new bucket of the same name would adopt."""
    folder = tmp_path / "killed"
    killed(folder, many, "reset", step)
    with running(folder) as daemon:
        recorded = {each["name"] for each in buckets(daemon)}
        assert {path.name for path in daemon.folder.buckets.iterdir()} <= recorded
        assert list(daemon.folder.incoming.iterdir()) == []
        assert all(content == b"hello" for name in recorded for _, content in objects(daemon, name).values())
        control(daemon).reset()
        assert_empty(daemon)
        control(daemon).import_state(many)
        assert len(objects(daemon, "some-bucket")) == 21


# --- archives that somebody else made


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


def test_a_large_object_does_not_pass_through_memory(tmp_path: Path) -> None:
    with running(tmp_path / "source") as source, running(tmp_path / "other") as other:
        assert call(source.url, "POST", BUCKETS, body={"name": "big"}, token=source.token).status == 200
        with (source.folder.buckets / "big" / "zeros").open("wb") as file:
            file.truncate(64 << 20)
        before = psutil.Process().memory_info().rss
        control(source).export_state(tmp_path / "big.tar")
        control(other).import_state(tmp_path / "big.tar")
        eventually(lambda: psutil.Process().memory_info().rss - before < 32 << 20)
        [stored] = get(other, "/storage/v1/b/big/o")["items"]
        assert int(stored["size"]) == 64 << 20


def test_protection_and_policies_are_exported_and_what_is_soft_deleted_is_not(tmp_path: Path) -> None:
    archive = tmp_path / "state.tar"
    retention = {"retentionPolicy": {"retentionPeriod": "100"}, "website": {"mainPageSuffix": "x"}}
    key = {"defaultKmsKeyName": "projects/p/locations/us/keyRings/r/cryptoKeys/k"}
    binding = {"role": "roles/storage.objectViewer", "members": ["allUsers"]}
    with running(tmp_path / "source") as source, running(tmp_path / "other") as other:

        def ask(method: str, path: str, body: Any = None) -> Any:
            answer = call(source.url, method, f"/storage/v1/b{path}", body=body, token=source.token)
            assert answer.status in (200, 204), answer.body
            return answer.json() if answer.body else None

        ask("POST", "?project=local&enableObjectRetention=true", {"name": "kept-b", "encryption": key})
        upload(source, "kept-b", "deleted", b"x")
        ask("DELETE", "/kept-b/o/deleted")
        upload(source, "kept-b", "a", b"first")
        upload(source, "kept-b", "b", b"second")
        ask("POST", "/kept-b/o/c/compose", {"sourceObjects": [{"name": "a"}, {"name": "b"}]})
        ask("PATCH", "/kept-b/o/a", {"temporaryHold": True, "eventBasedHold": True})
        ask("PATCH", "/kept-b/o/a", {"eventBasedHold": False})
        ask("PATCH", "/kept-b", retention)
        ask("POST", "/kept-b/lockRetentionPolicy?ifMetagenerationMatch=2")
        ask("PUT", "/kept-b/iam", {"bindings": [binding]})
        control(source).export_state(archive)
        assert control(other).import_state(archive)["objects"] == 3
        assert (objects(other, "kept-b"), buckets(other)) == (objects(source, "kept-b"), buckets(source))
        found = objects(other, "kept-b")
        assert [fields.get("componentCount") for fields, _ in found.values()] == [None, None, 2]
        assert all("kmsKeyName" in fields for fields, _ in found.values())
        assert get(other, "/storage/v1/b/kept-b/iam")["bindings"] == [binding]
        assert get(other, "/storage/v1/b/kept-b/o?softDeleted=true") == {"kind": "storage#objects"}
