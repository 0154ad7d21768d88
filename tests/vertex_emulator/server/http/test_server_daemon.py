"""The parts put together in one process: lock, port, services, idle exit; and the database below them."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest

from support.emulated.emulator import ask, running
from support.waiting import TIMEOUT, eventually
from vertex_emulator.daemon.daemon import Daemon, Settings
from vertex_emulator.daemon.gateways import PortError
from vertex_emulator.daemon.vertex_ai import VertexService
from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database, DatabaseError, connect
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError
from vertex_emulator.kernel.disk.locks import FileLock, LockHeldError, locked
from vertex_emulator.kernel.idle_watch import IdleWatch
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.replicas.images.resolution import Images
from vertex_emulator.server.http.messages import Response, Route
from vertex_emulator.server.permissions.denials import Denials
from vertex_emulator.services.project_services.services import ProjectServices
from vertex_emulator.services.quotas.limits import Quotas
from vertex_emulator.services.storage.disk.object_store import ObjectStore


class Jobs(VertexService):
    """Vertex AI that has as many live jobs as it is told."""

    def __init__(self) -> None:
        self.live = 0
        self.calls: list[str] = []

    def open(
        self,
        folder: DataFolder,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        images: Images,
        object_store: ObjectStore,
        timeouts: DaemonTimeouts,
    ) -> VertexService:
        assert folder.jobs.is_dir()
        database.migrate("jobs of a test", ["CREATE TABLE made_by_test (id TEXT)"])
        self.calls.append("open")
        return self

    def routes(self) -> Sequence[Route]:
        return [Route("GET", "/v1/hello", lambda *_: Response(200, b'"hello"'))]

    def run_after(self, ready: Callable[[], None]) -> None:
        """Have no replicas."""

    def project_services(self, database: Database, clock: Clock, denials: Denials) -> ProjectServices:
        quotas = Quotas(database, lambda: [], changed=lambda: None)
        return ProjectServices(database, clock, denials, quotas)

    def serve_at(self, url: str, token: str) -> None:
        """Have no schedules."""

    def start(self) -> None:
        self.calls.append("start")

    def is_needed(self) -> bool:
        return self.live > 0

    def live_jobs(self) -> int:
        return self.live

    def all_jobs(self) -> AllJobs:
        return cast(AllJobs, None)

    def clock_changing(self, jump: int) -> AbstractContextManager[None]:
        self.calls.append("clock")
        return nullcontext()

    def info(self) -> Mapping[str, Any]:
        return {"sandbox": "none"}


def test_services_are_opened_and_started(tmp_path: Path) -> None:
    jobs = Jobs()
    daemon = Daemon(Settings(data_dir=tmp_path), open_jobs=jobs.open)
    assert jobs.calls == ["open"]
    assert data_folder.read_record(daemon.folder) is None, "nobody is told of a port that does not answer yet"
    daemon.start()
    jobs.live = 3
    assert ask(daemon, "GET", "/v1/hello").body == b'"hello"'
    info = ask(daemon, "GET", "/_local/info").json()
    assert (info["liveJobs"], info["sandbox"]) == (3, "none")
    daemon.close()
    assert jobs.calls == ["open", "start"]
    with Database(tmp_path / "state.sqlite3").reading() as connection:
        assert connection.execute("SELECT count(*) FROM made_by_test").fetchone()[0] == 0


def test_a_stop_interrupts_the_wait_of_its_own_thread(tmp_path: Path) -> None:
    """Stop it as a handler of signals does, which Python runs between two lines of the main thread."""
    daemon = Daemon(Settings(data_dir=tmp_path), open_jobs=Jobs().open)
    lines = 0

    def stop_between_lines(frame: FrameType, event: str, _value: object) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            daemon.request_stop()
        return stop_between_lines

    def wait() -> None:
        sys.settrace(stop_between_lines)
        daemon.wait()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    waiter.join(TIMEOUT)
    assert not waiter.is_alive()
    assert lines
    daemon.close()


@contextmanager
def idling(folder: Path, jobs: Jobs) -> Iterator[tuple[Daemon, Callable[[float], bool]]]:
    """Run an emulator that leaves after 30 idle minutes.

    The function lets minutes pass and returns whether it leaves.
    """
    passed = [0.0]
    daemon = Daemon(Settings(data_dir=folder, monotonic=lambda: passed[0]), open_jobs=jobs.open)

    def leaves_after(minutes: float) -> bool:
        passed[0] += minutes * 60
        daemon.scheduler.settle(seconds=TIMEOUT)
        return daemon._is_ending()

    daemon.start()
    try:
        yield daemon, leaves_after
    finally:
        daemon.close()


def test_it_stays_while_a_job_lives(tmp_path: Path) -> None:
    jobs = Jobs()
    jobs.live = 1
    with idling(tmp_path, jobs) as (daemon, leaves_after):
        assert not leaves_after(1000)
        jobs.live = 0
        assert not leaves_after(29)
        assert leaves_after(2)
        daemon.wait()


def test_requests_keep_it_from_leaving(tmp_path: Path) -> None:
    """Let the idle time begin again with each request."""
    with idling(tmp_path, Jobs()) as (daemon, leaves_after):
        for _ in range(3):
            assert not leaves_after(29)
            ask(daemon, "GET", "/v1/hello")
        assert leaves_after(31)


def test_one_daemon_a_folder(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(LockHeldError):
        Daemon(Settings(data_dir=tmp_path, timeouts=DaemonTimeouts(folder=0.05)), open_jobs=Jobs().open)
    with running(tmp_path):
        pass


def test_it_leaves_when_its_folder_is_deleted(tmp_path: Path) -> None:
    """Send no request: the folder's successor must be safe from background tasks."""
    with running(tmp_path / "data") as emulator:
        # It may make files while the folder is removed, so the removal is tried again.
        eventually(
            lambda: shutil.rmtree(tmp_path / "data", ignore_errors=True) or not (tmp_path / "data").exists()
        )
        emulator.wait()


def test_it_writes_nothing_into_the_folder_of_its_successor(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder) as old:
        folder.rename(tmp_path / "moved")
        with running(folder) as new:
            blobs = folder / "registry" / "blobs" / "sha256"
            blob = blobs / ("a" * 64)
            blobs.mkdir(parents=True, exist_ok=True)
            blob.write_text("of the successor")
            answer = ask(old, "POST", "/storage/v1/b?project=local", {"name": "old"})
            assert (answer.status, "was deleted or replaced" in answer.message) == (503, True)
            old.close()
            assert blob.exists(), "the old emulator collected no garbage there"
            assert ask(new, "GET", "/storage/v1/b/old").status == 404
            assert data_folder.read_record(new.folder) is not None
            assert sorted(path.name for path in (folder / "buckets").iterdir()) == []


def test_a_lock_whose_folder_vanished_is_an_error_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "data" / "emulator.lock"
    path.parent.mkdir()
    held = FileLock(path)
    assert held.is_seen()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(FileLock, path, timeout=TIMEOUT)
        eventually(lambda: times_open(path) == 2)
        shutil.rmtree(path.parent)
        assert not held.is_seen()
        held.release()
        with pytest.raises(DataFolderError, match="cannot be used: No such file or directory"):
            waiting.result()
    assert times_open(path) == 0


def times_open(path: Path) -> int:
    """Return how often this process has a file open, which may be deleted."""
    found = 0
    for end in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += str(end.readlink()).removesuffix(" (deleted)") == str(path)
    return found


def test_ports(tmp_path: Path) -> None:
    with running(tmp_path / "a") as first:
        port = first._server.server_port
        with pytest.raises(PortError, match=f"Port {port} is in use by another program"):
            Daemon(Settings(data_dir=tmp_path / "b", port=port), open_jobs=Jobs().open)
        with running(tmp_path / "b") as second:
            assert second.url != first.url
    with socket.create_server(("127.0.0.1", port)), running(tmp_path / "a") as again:
        assert again._server.server_port != port, "the port used last is taken, so another is used"


def test_a_failed_start_leaves_nothing_held(tmp_path: Path) -> None:
    def broken(*_: Any) -> VertexService:
        raise RuntimeError("the jobs cannot be opened")

    with pytest.raises(RuntimeError, match="cannot be opened"):
        Daemon(Settings(data_dir=tmp_path), open_jobs=broken)
    with running(tmp_path):
        assert (tmp_path / "emulator.json").exists()


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_text('{"url": '), Path.unlink], ids=["cut", "gone"]
)
def test_a_damaged_record_is_written_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    with running(tmp_path) as daemon:
        before = data_folder.read_record(daemon.folder)
        assert before is not None
        damage(daemon.folder.record)
        eventually(lambda: data_folder.read_record(daemon.folder) == before)


def test_project_numbers() -> None:
    assert project_number("local") == "790239471140", "it is in the names of jobs that are on record"
    assert project_number("local") != project_number("local2")
    assert project_number("123456789012") == "123456789012"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"VERTEX_TRAINING_DATA_DIR": "/data", "HOME": "/h"}, "/data"),
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/vertex-training/emulator"),
        ({"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/vertex-training/emulator"),
        ({"HOME": "/h", "VERTEX_TRAINING_DATA_DIR": ""}, "/h/.local/share/vertex-training/emulator"),
    ],
)
def test_the_default_data_folder(environment: dict[str, str], expected: str) -> None:
    assert data_folder.default_data_dir(environment) == Path(expected)


def test_the_storage_secret_and_the_proof_follow_from_the_token() -> None:
    assert data_folder.storage_secret("a") != data_folder.storage_secret("b")
    assert "token" not in data_folder.storage_secret("token")
    proof = data_folder.health_proof("t", instance="i", nonce="n")
    assert proof != data_folder.health_proof("t", instance="i", nonce="m")
    assert proof != data_folder.health_proof("t", instance="j", nonce="n")


def test_private_files_are_whole_or_not_there(tmp_path: Path) -> None:
    folder = data_folder.prepare(tmp_path / "data")
    token = data_folder.ensure_token(folder)
    folder.token.chmod(0o644)
    assert data_folder.ensure_token(folder) == token
    assert folder.token.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DataFolderError, match=r"cannot be used.*no-such"):
        data_folder.write_private(tmp_path / "no-such" / "file", b"x")


def test_locks_between_descriptors(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock(path)
    with pytest.raises(LockHeldError) as caught:
        FileLock(path, timeout=0.05)
    assert caught.value.holder is not None
    waiter = threading.Thread(target=lambda: FileLock(path, timeout=TIMEOUT).release())
    waiter.start()
    lock.release()
    waiter.join(TIMEOUT)
    assert not waiter.is_alive()
    with locked(path, timeout=0):
        path.unlink()
        with locked(path, timeout=1):
            pass  # the lock of a file that was deleted is no lock for those who come later


# The database


def test_transactions_are_all_or_nothing(tmp_path: Path) -> None:
    database = connect(tmp_path / "db")
    database.migrate("t", ["CREATE TABLE t (n INTEGER PRIMARY KEY);"])

    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
            with database.transaction() as inner:
                inner.execute("INSERT INTO t VALUES (2)")
            assert database.rows("SELECT * FROM t") == [], "readers see what is committed"
            connection.execute("INSERT INTO t VALUES (1)")

    with pytest.raises(sqlite3.IntegrityError):
        fail()
    assert database.rows("SELECT * FROM t") == []
    database.execute("INSERT INTO t VALUES (3)")
    row = database.row("SELECT n FROM t")
    assert row is not None
    assert row["n"] == 3
    assert database.row("SELECT n FROM t WHERE n = 9") is None
    database.close()


def test_many_threads_write_and_read(tmp_path: Path) -> None:
    database = connect(tmp_path / "db")
    database.migrate("t", ["CREATE TABLE t (n INTEGER);"])

    def work(number: int) -> int:
        for _ in range(20):
            database.execute("INSERT INTO t VALUES (?)", (number,))
        return len(database.rows("SELECT n FROM t WHERE n = ?", (number,)))

    with ThreadPoolExecutor(max_workers=16) as pool:
        assert list(pool.map(work, range(16))) == [20] * 16
    database.close()


def test_migrations_run_once_each(tmp_path: Path) -> None:
    first = "CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (1);"
    second = "ALTER TABLE a ADD COLUMN text TEXT DEFAULT ';';"
    for scripts in ([first], [first], [first, second], [first, second]):
        database = connect(tmp_path / "db")
        database.migrate("component", scripts)
        assert len(database.rows("SELECT * FROM a")) == 1
        database.close()
    database = connect(tmp_path / "db")
    with pytest.raises(
        DatabaseError, match=r"newer emulator \(schema 2 of component; this one knows up to 1\)"
    ):
        database.migrate("component", [first])
    with pytest.raises(sqlite3.Error):
        database.migrate("other", ["CREATE TABLE b (n INTEGER);", "NOT SQL;"])
    assert database.row("SELECT 1 FROM sqlite_master WHERE name = 'b'") is None, "a failed one leaves nothing"
    database.close()


@pytest.mark.parametrize("content", [b"no database" * 500, None])
def test_a_database_that_cannot_be_opened(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "db"
    make: Callable[[], Any] = path.mkdir if content is None else lambda: path.write_bytes(content)
    make()
    with pytest.raises(DatabaseError, match=f"database {path} cannot be opened"):
        connect(path)


def test_an_error_does_not_keep_it_from_leaving() -> None:
    """Let the database fail at one access and work at the next."""
    looks: list[int] = []
    left = threading.Event()

    def busy() -> bool:
        looks.append(1)
        if len(looks) == 1:
            raise sqlite3.OperationalError("disk I/O error")
        return False

    scheduler = Scheduler(Clock())
    IdleWatch(scheduler, minutes=0.001, busy=busy, leave=left.set)
    scheduler.start()
    assert left.wait(TIMEOUT)
    scheduler.close()
    assert len(looks) >= 2


@pytest.mark.parametrize(
    "path", ["/_local/requests?after=", "/v1/projects/p/locations/us-central1/operations?pageToken="]
)
def test_numbers_that_are_too_long(tmp_path: Path, path: str) -> None:
    with running(tmp_path) as daemon:
        for digits in ("9" * 19, "9" * 5000):
            assert ask(daemon, "GET", path + digits).status == 400
