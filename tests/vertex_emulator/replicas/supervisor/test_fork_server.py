"""The process of which supervisors are forks, and what its end changes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.emulated.emulator import is_alive, kill
from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    pool,
    raise_flag,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.client.interpreter import VARIABLE
from vertex_emulator.replicas.supervisor.fork_server import show_command_line


def running(emulator: JobEmulator, code: str = SLEEP) -> tuple[str, psutil.Process]:
    """Start a job. Return its name and its supervisor."""
    name = emulator.create(pool(code))
    emulator.wait(name, "JOB_STATE_RUNNING")
    return name, psutil.Process(emulator.supervisor(name))


def server_of(supervisor: psutil.Process) -> psutil.Process:
    parent = supervisor.parent()
    assert parent is not None
    return parent


def test_supervisors_are_forks_of_one_process_and_named_after_their_jobs(emulator: JobEmulator) -> None:
    (one, first), (other, second) = running(emulator), running(emulator)
    assert server_of(first) == server_of(second)
    assert server_of(first).cmdline() != first.cmdline()
    for name, supervisor in ((one, first), (other, second)):
        assert supervisor.cmdline()[-1] == str(emulator.folder(name))
        assert supervisor.cmdline()[-3:-1] == ["-m", "vertex_emulator.replicas.supervisor.supervisor"]


def test_jobs_go_on_without_the_fork_server_and_the_next_job_starts_another(emulator: JobEmulator) -> None:
    name, supervisor = running(emulator, f"{wait_for_flags('go')}\nprint('done')")
    before = server_of(supervisor)
    kill(before.pid)
    other, another = running(emulator, wait_for_flags("go"))
    assert server_of(another) != before
    (emulator.flags / "go").touch()
    assert emulator.wait(name)["state"] == emulator.wait(other)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(name) == ["done"]
    wait_until_gone(name)


def test_a_job_has_the_environment_of_its_start(
    emulator: JobEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os; print(os.environ.get('PIP_INDEX_URL'))"
    for url in ("https://one.example", "https://two.example/ü"):
        monkeypatch.setenv("PIP_INDEX_URL", url)
        name = emulator.create(pool(code))
        emulator.wait(name)
        assert emulator.printed(name) == [url]


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_that_cannot_run_the_supervisor_fails_the_job_with_its_message(
    emulator: JobEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = script(tmp_path / "python", "echo no module named vertex_emulator >&2; exit 1")
    monkeypatch.setenv(VARIABLE, str(broken))
    for _ in range(2):
        ended = emulator.wait(emulator.create(pool(raise_flag("ran"))))
        assert ended["state"] == "JOB_STATE_FAILED"
        assert "could not start. Its last lines:" in ended["error"]["message"]
        assert "no module named vertex_emulator" in ended["error"]["message"]
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    ended = emulator.wait(emulator.create(pool(raise_flag("ran"))))
    assert "could not be started: [Errno 2]" in ended["error"]["message"]
    assert not (emulator.flags / "ran").exists()


def test_the_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from vertex_emulator.replicas.supervisor.fork_server import ForkServer\n"
        "server = ForkServer(sys.executable)\n"
        "lock = os.open('lock', os.O_CREAT)\n"
        "server.fork(Path('missing'), os.environ, lock=lock, log=Path('log'))\n"
        "print(os.getpid(), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        [server] = psutil.Process(parent.pid).children()
        assert is_alive(server)
        parent.send_signal(signal.SIGKILL)
    eventually(lambda: not is_alive(server))


@pytest.mark.skipif(sys.platform != "linux", reason="the command line is shown in /proc")
def test_a_command_line_that_has_no_space_stays() -> None:
    before = psutil.Process().cmdline()
    show_command_line("x" * 2**20)
    assert psutil.Process().cmdline() == before
