"""Recovery after kills: of supervisors, replicas and the emulator itself."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import psutil
import pytest

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    job_id,
    pool,
    processes_of,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.emulated.services.killed_emulator import killed_after_block
from support.waiting import eventually
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.custom.reconciler import Supervisors
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

STRAY = (
    "import subprocess, sys\n"
    "subprocess.run([sys.executable, '-c', 'import os, time; os.fork() and os._exit(0); time.sleep(600)'],"
    " start_new_session=True)\n"
    "print('ready', flush=True)\n"
    "import time; time.sleep(600)"
)


def kinds(sandbox: Sandbox) -> list[Sandbox]:
    """Return the sandbox of this machine, the same without process namespaces, and none."""
    found = [sandbox, Sandbox(kind=sandbox.kind, user=sandbox.user, reason=sandbox.reason)]
    return [*dict.fromkeys([*found, Sandbox(kind="process", reason="of a test")])]


def test_a_killed_supervisor_takes_its_replicas_with_it(tmp_path: Path, sandbox: Sandbox) -> None:
    for number, kind in enumerate(kinds(sandbox)):
        with running_jobs(tmp_path / str(number), sandbox=kind) as emulator:
            name = emulator.create(pool(STRAY), pool(STRAY))
            eventually(lambda e=emulator, n=name: e.printed(n) == e.printed(n, "workerpool1-0") == ["ready"])
            assert len(processes_of(name)) >= 5
            os.kill(emulator.supervisor(name), signal.SIGKILL)
            ended = emulator.wait(name)
            wait_until_gone(name)
            assert ended["state"] == "JOB_STATE_FAILED"
            assert ended["error"]["code"] == 13
            assert "The supervisor of the job was killed" in ended["error"]["message"]
            states = {each["state"] for each in emulator.replicas(name).values()}
            assert states == {"stopped"}
            assert emulator.delete(name).status == 200


def test_a_killed_shim_takes_its_program_with_it(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    program = psutil.Process(emulator.replicas(name)["workerpool0-0"]["pid"])
    shim = program.parent()
    assert shim is not None and shim.ppid() == emulator.supervisor(name)
    shim.kill()
    ended = emulator.wait(name)
    assert "non-zero status of 137" in ended["error"]["message"]
    wait_until_gone(name)


def test_a_supervisor_killed_while_a_job_is_cancelled(tmp_path: Path, sandbox: Sandbox) -> None:
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print('r', flush=True)\n" + SLEEP
    with running_jobs(tmp_path, sandbox=sandbox, grace=600) as emulator:
        name = emulator.create(pool(stubborn))
        eventually(lambda: emulator.printed(name) == ["r"])
        supervisor = emulator.supervisor(name)
        emulator.cancel(name)
        os.kill(supervisor, signal.SIGKILL)
        ended = emulator.wait(name)
        assert (ended["state"], ended["error"]["code"]) == ("JOB_STATE_CANCELLED", 1)
        wait_until_gone(name)


@pytest.mark.parity("Custom jobs: replicas")
def test_a_job_outlives_the_emulator(tmp_path: Path, sandbox: Sandbox) -> None:
    """Kill an emulator process while jobs run; another one continues them."""
    data = tmp_path / "data"
    until_go = f"{wait_for_flags('go')}\nprint('done')"
    with killed_after_block(data) as other:
        ends = other.create(pool(until_go))
        stays = other.create(pool(SLEEP))
        for name in (ends, stays):
            other.wait(name, "JOB_STATE_RUNNING")
    before = processes_of(stays)
    (data / "buckets" / "flags" / "go").touch()
    wait_until_gone(ends)
    with running_jobs(data, sandbox=sandbox) as emulator:
        ended = emulator.get(ends)
        assert ended["state"] == "JOB_STATE_SUCCEEDED"
        assert ended["createTime"] < ended["startTime"] < ended["endTime"]
        assert emulator.printed(ends) == ["done"]
        assert emulator.get(stays)["state"] == "JOB_STATE_RUNNING"
        assert processes_of(stays) == before
        emulator.cancel(stays)
        assert emulator.wait(stays)["state"] == "JOB_STATE_CANCELLED"
        wait_until_gone(stays)


class NeverStarts(Supervisors):
    """As if the emulator were killed between the record and the supervisor."""

    def start(self, job_id: str, folder: JobFolder) -> None:
        return

    def is_alive(self, folder: JobFolder) -> bool:
        return True


def test_a_recorded_job_whose_supervisor_never_started_is_started(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox, supervisors=NeverStarts()) as emulator:
        name = emulator.create(pool("print('late')"))
        cancelled = emulator.create(pool(SLEEP))
        emulator.cancel(cancelled)
        assert emulator.get(name)["state"] == "JOB_STATE_PENDING"
        assert processes_of(name) == []
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        assert emulator.printed(name) == ["late"]
        assert emulator.wait(cancelled)["state"] == "JOB_STATE_CANCELLED"


def test_folders_without_a_record_are_removed_at_the_start(tmp_path: Path, sandbox: Sandbox) -> None:
    jobs = data_folder.prepare(tmp_path).jobs
    remains = [jobs / "1234567890123456789", jobs / ".deleted-456"]
    for path in remains:
        (path / "logs").mkdir(parents=True)
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        kept = emulator.create(pool())
        eventually(lambda: not any(path.exists() for path in remains))
        emulator.wait(kept)
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        assert emulator.folder(kept).exists()


def test_a_job_has_one_supervisor(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    replicas = emulator.replicas(name)
    others = Supervisors()
    others.start(job_id(name), JobFolder(emulator.folder(name)))
    assert not others.has_started(job_id(name))
    assert emulator.replicas(name) == replicas


def test_a_supervisor_that_cannot_start_fails_the_job(tmp_path: Path, sandbox: Sandbox) -> None:
    class Broken(Supervisors):
        def start(self, job_id: str, folder: JobFolder) -> None:
            folder.plan.write_text("{")
            super().start(job_id, folder)

    with running_jobs(tmp_path, sandbox=sandbox, supervisors=Broken()) as emulator:
        ended = emulator.wait(emulator.create(pool()))
        assert ended["state"] == "JOB_STATE_FAILED"
        assert "supervisor" in ended["error"]["message"]
        assert "JSONDecodeError" in ended["error"]["message"]


def test_a_supervisor_that_dies_without_a_word_is_not_started_for_ever(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    class Silent(Supervisors):
        def start(self, job_id: str, folder: JobFolder) -> None:
            folder.supervisor.mkdir()  # it cannot say that it has started
            super().start(job_id, folder)
            eventually(lambda: not self.is_alive(folder))
            folder.supervisor.rmdir()
            folder.supervisor_log.write_text("")

    with running_jobs(tmp_path, sandbox=sandbox, supervisors=Silent()) as emulator:
        ended = emulator.wait(emulator.create(pool()))
        assert ended["error"]["message"] == (
            "The job's supervisor could not start. Its last lines:\n    (none)"
        )


@pytest.mark.usefixtures("cold_emulators")
def test_who_looks_while_a_job_is_created_does_not_start_it_twice(emulator: JobEmulator) -> None:
    stop = threading.Event()

    def list_jobs() -> None:
        while not stop.is_set():
            emulator.call("GET", "/_local/jobs")

    readers = [threading.Thread(target=list_jobs) for _ in range(3)]
    for each in readers:
        each.start()
    try:
        names = [emulator.create(pool(SLEEP)) for _ in range(6)]
        for name in names:
            emulator.wait(name, "JOB_STATE_RUNNING")
            supervisors = [line for line in processes_of(name) if "replicas.supervisor" in line]
            shims_and_one = psutil.Process(emulator.supervisor(name)).children(recursive=False)
            assert len(supervisors) == 1 + len(shims_and_one) + sum(
                len([c for c in shim.children() if "replicas.supervisor" in " ".join(c.cmdline())])
                for shim in shims_and_one
            )
    finally:
        stop.set()
        for each in readers:
            each.join()


@pytest.mark.parametrize("path", ["jobs", "state.sqlite3"])
def test_create_without_room_leaves_nothing_behind(emulator: JobEmulator, path: str) -> None:
    """Use a folder at the path of a file in place of a full disk."""
    import shutil

    from support.emulated.job_emulator import PARENT, job

    if path == "jobs":
        shutil.rmtree(emulator.data_dir / "jobs")
        (emulator.data_dir / "jobs").write_text("not a folder")
        error = emulator.refused(job(pool()))
        (emulator.data_dir / "jobs").unlink()
        (emulator.data_dir / "jobs").mkdir()
    else:
        emulator.daemon._database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON custom_jobs BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
        error = emulator.refused(job(pool()))
        emulator.daemon._database.execute("DROP TRIGGER full")
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert str(emulator.data_dir) in error["message"]
    assert emulator.call("GET", f"{PARENT}/customJobs").json() == {}
    assert list((emulator.data_dir / "jobs").iterdir()) == []
    assert emulator.wait(emulator.create(pool()))["state"] == "JOB_STATE_SUCCEEDED"


def test_ids_in_replies_are_those_of_folders(emulator: JobEmulator) -> None:
    name = emulator.create(pool())
    assert emulator.folder(name).is_dir()
    assert emulator.call("GET", f"/_local/jobs/{job_id(name)}").json()["name"] == name
    assert emulator.call("GET", "/_local/jobs/1").status == 404


def test_what_was_spoilt_by_hand_or_by_a_power_cut_does_not_stop_a_start(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        emptied, removed = emulator.create(pool(SLEEP)), emulator.create(pool(SLEEP))
        folders = [emulator.folder(each) for each in (emptied, removed)]
        for name in (emptied, removed):
            emulator.wait(name, "JOB_STATE_RUNNING")
        os.kill(emulator.supervisor(removed), signal.SIGSTOP)
        assert emulator.cancel(removed).status == 200
        supervisors = [emulator.supervisor(each) for each in (emptied, removed)]
    for supervisor in supervisors:
        os.kill(supervisor, signal.SIGKILL)
    wait_until_gone(emptied)
    wait_until_gone(removed)
    (folders[0] / "state.json").write_bytes(b"")
    shutil.rmtree(folders[1])
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        assert emulator.wait(emptied)["state"] == "JOB_STATE_FAILED"
        assert emulator.wait(removed)["state"] == "JOB_STATE_CANCELLED"
        assert emulator.replicas(emptied) == {}


def test_a_deleted_folder_of_a_job_is_reported_as_that(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    folder, supervisor = emulator.folder(name), emulator.supervisor(name)
    remove_tree(folder)
    try:
        ended = emulator.wait(name)
        assert ended["state"] == "JOB_STATE_FAILED"
        assert (
            f"The folder of the job, {folder}, was deleted before the job ended" in ended["error"]["message"]
        )
    finally:
        os.kill(supervisor, signal.SIGTERM)
        wait_until_gone(name)


def test_folders_nested_deep_are_removed(tmp_path: Path, sandbox: Sandbox) -> None:
    """Python's own rmtree gives up at about a thousand."""
    code = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        name = emulator.create(pool(code))
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        remains = emulator.folder("x/.deleted-1")
        wait_until_gone(name)
        emulator.folder(name).rename(remains)
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        assert not remains.exists()
        name = emulator.create(pool(code))
        emulator.wait(name)
        folder = emulator.folder(name)
        try:
            assert emulator.delete(name).status == 200
            assert not folder.exists(), "the answer does not wait for the removal"
            eventually(lambda: list((tmp_path / "jobs").iterdir()) == [])
        finally:
            remove_tree(folder)  # pytest's own clean-up would fail at it


def test_a_deletion_does_not_wait_for_the_supervisor(tmp_path: Path, sandbox: Sandbox) -> None:
    """Let a supervisor stay after it has reported the end, as it does while it removes files of replicas."""

    class Staying(Supervisors):
        stays = False

        def is_alive(self, folder: JobFolder) -> bool:
            assert not self.stays, "the deletion waits for the supervisor"
            return super().is_alive(folder)

    supervisors = Staying()
    with running_jobs(tmp_path, sandbox=sandbox, supervisors=supervisors) as emulator:
        name = emulator.create(pool("pass"))
        emulator.wait(name)
        supervisors.stays = True
        deleted = emulator.delete(name)
        supervisors.stays = False
        assert deleted.status == 200, deleted.body
        assert not emulator.folder(name).exists()
        wait_until_gone(name)
        eventually(lambda: list((tmp_path / "jobs").iterdir()) == [])


def test_who_counts_the_live_jobs_while_one_is_deleted(tmp_path: Path, sandbox: Sandbox) -> None:
    """Read the store before the deletion: the job is not live, whether or not its supervisor has exited."""

    class Lingering(Supervisors):
        lingers = False

        def is_alive(self, folder: JobFolder) -> bool:
            return self.lingers or super().is_alive(folder)

    supervisors = Lingering()
    with running_jobs(tmp_path, sandbox=sandbox, supervisors=supervisors) as emulator:
        name = emulator.create(pool(SLEEP))
        emulator.wait(name, "JOB_STATE_RUNNING")
        reconciler = emulator.daemon._jobs.jobs._reconciler  # type: ignore[attr-defined]
        seen = reconciler._store.started()
        emulator.cancel(name)
        emulator.wait(name)
        assert emulator.delete(name).status == 200

        class Stale:
            """The store as it was read a moment ago."""

            def started(self) -> object:
                return seen

            def find(self, _: str) -> None:
                return None

            def change(self, *_: object) -> None:
                return None

        reconciler._store, store = Stale(), reconciler._store
        live = []
        for supervisors.lingers in (True, False):
            live.append(reconciler.live())
        reconciler._store = store
        assert live == [[], []]


def test_a_killed_shim_leaves_nothing(tmp_path: Path, sandbox: Sandbox) -> None:
    """Also what the program had started, in sessions of its own or not."""
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {SLEEP!r}])\n{STRAY}"
    for number, kind in enumerate(kinds(sandbox)):
        with running_jobs(tmp_path / str(number), sandbox=kind) as emulator:
            name = emulator.create(pool(code), pool(SLEEP))
            eventually(lambda e=emulator, n=name: e.printed(n) == ["ready"])
            emulator.wait(name, "JOB_STATE_RUNNING")  # then the process is known
            shim = psutil.Process(emulator.replicas(name)["workerpool0-0"]["pid"]).parent()
            assert shim is not None
            shim.kill()
            assert emulator.wait(name)["state"] == "JOB_STATE_FAILED"
            wait_until_gone(name)


def test_a_program_that_forks_and_ends_all_the_time(tmp_path: Path) -> None:
    """Run a program whose processes keep moving; they end by themselves if the test fails."""
    code = (
        "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\nends = time.monotonic() + 300\n"
        "for _ in range(8):\n    if os.fork() == 0:\n"
        "        while time.monotonic() < ends:\n            os.fork() and os._exit(0)\n"
        "        os._exit(0)\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    with running_jobs(tmp_path, sandbox=Sandbox(kind="process", reason="of a test")) as emulator:
        name = emulator.create(pool(code))
        eventually(lambda: emulator.printed(name) == ["ready"])
        emulator.cancel(name)
        assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
        wait_until_gone(name)


def test_a_job_whose_folder_is_removed_ends(tmp_path: Path, sandbox: Sandbox) -> None:
    """Delete the whole data folder: nothing is left that could cancel the job."""
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        name = emulator.create(pool(SLEEP), pool(SLEEP))
        emulator.wait(name, "JOB_STATE_RUNNING")
        emulator.folder(name).rename(tmp_path / "elsewhere")
        wait_until_gone(name)
