"""Export, import and reset of an emulator's jobs and buckets; objects that replicas write meanwhile."""

from __future__ import annotations

import base64
import itertools
import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.emulated.archives.exported_state import BUCKETS, assert_empty, buckets, get, objects
from support.emulated.archives.members import control, rows, unpacked
from support.emulated.emulator import call, found_sandbox, running
from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    job_id,
    pool,
    processes_of,
    raise_flag,
    running_jobs,
    wait_for_flags,
)
from support.services.steps import Steps
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.daemon.archive.tables import LEFT_OUT
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.jobs.custom.reconciler import Reconciler


def upload(daemon: Daemon, bucket: str, name: str, data: bytes, kind: str = "text/plain") -> None:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
    call(daemon.url, "POST", path, body=data, token=daemon.token, headers={"Content-Type": kind}).ok()


def fill(emulator: JobEmulator) -> str:
    """Create a bucket with versions, odd names and a replica's file, and an ended job with a log."""
    daemon = emulator.daemon
    versioned = {"name": "some-models", "versioning": {"enabled": True}, "labels": {"team": "a"}}
    assert emulator.call("POST", BUCKETS, versioned).status == 200
    upload(daemon, "some-models", "a", b"first")
    upload(daemon, "some-models", "a", b"second", "application/octet-stream")
    upload(daemon, "some-models", "a/b", b"below a file")
    upload(daemon, "some-models", "..%2Fup", b"no path at all")
    upload(daemon, "some-models", "empty/", b"")
    code = "open('/gcs/some-models/written', 'w').write('x' * 1000); print('hello')"
    name = emulator.create(pool(f"import os; os.mkdir('/gcs/some-models/made'); {code}"))
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    return name


@pytest.fixture
def source(tmp_path: Path) -> Iterator[JobEmulator]:
    with running_jobs(tmp_path / "source", sandbox=found_sandbox()) as emulator:
        yield emulator


def test_what_was_exported_is_there_again(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    size = control(source.daemon).export_state(archive)
    assert (archive.stat().st_size, archive.stat().st_mode & 0o777) == (size, 0o600)
    expected = (objects(source.daemon, "some-models"), buckets(source.daemon), source.get(name))
    assert len(expected[0]) == 7
    with running_jobs(tmp_path / "other", sandbox=found_sandbox()) as other:
        added = control(other.daemon).import_state(archive)
        expected_counts = {"jobs": 1, "endedJobs": 0, "buckets": 1, "objects": 7}
        assert added == {**expected_counts, "images": 0, "repositories": 0, "resources": {}}
        found = (objects(other.daemon, "some-models"), buckets(other.daemon), other.get(name))
        assert found == expected
        folder = other.daemon.folder.buckets / "some-models"
        assert (folder / "empty").is_dir() and (folder / "made").is_dir()
        assert other.printed(name) == ["hello"]
        assert other.entries(name) == source.entries(name)
        assert other.replicas(name).keys() == source.replicas(name).keys()
        assert other.replicas(name)["workerpool0-0"]["exitCode"] == 0
        read = "print(open('/gcs/some-models/written').read() == 'x' * 1000)"
        again = other.create(pool(read))
        other.wait(again)
        assert other.printed(again) == ["True"]
        upload(other.daemon, "some-models", "a", b"third")
        assert len(objects(other.daemon, "some-models")) == 8
        assert other.delete(name).status == 200
    with running(tmp_path / "other") as restarted:
        assert len(objects(restarted, "some-models")) == 8


def test_an_archive_of_an_archive_is_the_same(source: JobEmulator, tmp_path: Path) -> None:
    fill(source)
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    control(source.daemon).export_state(first)
    with running(tmp_path / "other") as other:
        control(other).import_state(first)
        control(other).export_state(second)
    one, two = unpacked(first), unpacked(second)
    for members in (one, two):
        del members["manifest.json"]
    states = [json.loads(members.pop(next(n for n in members if "/state" in n))) for members in (one, two)]
    assert [each["replicas"][0]["exit_code"] for each in states] == [0, 0]
    mine, theirs = (rows(members.pop("state.sqlite3")) for members in (one, two))
    for tables in (mine, theirs):
        # Each file has its own time and inode.
        tables["storage_objects"] = [(*row[:14], *row[16:]) for row in tables["storage_objects"]]
    assert one == two
    assert mine == theirs


def test_a_snapshot_has_neither_secrets_nor_settings_of_tests(source: JobEmulator, tmp_path: Path) -> None:
    source.call("PUT", "/_local/start-delay", {"seconds": 3600})
    source.call("POST", "/_local/quotas", {"metric": "cpus", "limit": 4})
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    tables = rows(unpacked(archive)["state.sqlite3"])
    assert all(not tables[name] for name in LEFT_OUT - {"schema_versions"})
    assert source.daemon.token.encode() not in archive.read_bytes()


def test_secrets_are_exported_without_their_values(tmp_path: Path) -> None:
    archive = tmp_path / "state.tar"
    with running(tmp_path / "source") as source, running(tmp_path / "other") as other:

        def ask(daemon: Daemon, method: str, path: str, body: Any = None) -> Any:
            secrets = f"/v1/projects/local/secrets{path}"
            return call(daemon.url, method, secrets, body=body, token=daemon.token)

        secret = {"replication": {"automatic": {}}, "labels": {"team": "a"}}
        assert ask(source, "POST", "?secretId=hub", secret).status == 200
        value = {"payload": {"data": base64.b64encode(b"the-value-of-a-secret").decode()}}
        assert ask(source, "POST", "/hub:addVersion", value).status == 200
        control(source).allow_host("pubsub.googleapis.com")
        control(source).export_state(archive)
        assert b"the-value-of-a-secret" not in archive.read_bytes()
        assert control(other).import_state(archive)["resources"] == {"secrets": 1}
        assert control(other).allowed_hosts() == []
        for path in ("/hub", "/hub/versions"):
            assert ask(other, "GET", path).json() == ask(source, "GET", path).json()
        refused = ask(other, "GET", "/hub/versions/latest:access")
        assert (refused.status, refused.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")
        assert "came with a snapshot, which has no values of secrets" in refused.message
        assert ask(other, "POST", "/hub:addVersion", value).status == 200
        found = ask(other, "GET", "/hub/versions/latest:access").json()["payload"]["data"]
        assert found == value["payload"]["data"]
    with running(tmp_path / "other") as restarted:
        assert control(restarted).allowed_hosts() == []


def test_tar_reads_it(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    names = list(unpacked(archive))
    assert (names[:2], names[-1]) == (["manifest.json", f"jobs/{job_id(name)}/state.json"], "state.sqlite3")
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
    with running_jobs(tmp_path / "other", sandbox=found_sandbox()) as other:
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


def test_an_emulator_with_anything_in_it_imports_nothing(source: JobEmulator, tmp_path: Path) -> None:
    name = fill(source)
    archive = tmp_path / "state.tar"
    control(source.daemon).export_state(archive)
    before = objects(source.daemon, "some-models")
    with pytest.raises(ControlError, match="not empty, it has storage buckets, storage objects") as refused:
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
    assert len(objects(source.daemon, "some-models")) == 7
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


def test_a_reset_ends_what_is_created_meanwhile(tmp_path: Path) -> None:
    """Let a program ignore SIGTERM until there is another job."""
    stubborn = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + raise_flag("ready")
    with running_jobs(tmp_path / "source", sandbox=found_sandbox(), grace=600) as source:
        name = source.create(pool(stubborn + wait_for_flags("created")))
        eventually((source.flags / "ready").exists)
        reset = threading.Thread(target=control(source.daemon).reset, daemon=True)
        reset.start()
        source.wait(name, "JOB_STATE_CANCELLING")
        later = source.create(pool(SLEEP))
        (source.flags / "created").touch()
        reset.join(timeout=TIMEOUT)
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
