"""Locks of the file backend and the remains of a killed run, on real files and real processes."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import stack
from scripts.layout import Layout
from scripts.layout import layout as layout_of
from scripts.pulumi_cli import backend_locks
from scripts.report import ChoreError, Report
from support.installs.small_clone import clone_with, pulumi
from support.waiting import eventually

WAIT = "import sys, time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Yield a list for the processes of the test; end them afterwards."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(
    started: list[subprocess.Popen[str]], *arguments: str, env: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a Python process, and wait for its first line."""
    process = subprocess.Popen(
        [sys.executable, *arguments], env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, text=True
    )
    started.append(process)
    assert process.stdout
    assert process.stdout.readline()
    return process


def write_lock(layout: Layout, pid: int, *, host: str = "", stack: str = "local") -> Path:
    """Write a lock as Pulumi 3.259 does, with its file of attributes."""
    shutil.copy(layout_of().root / "Pulumi.yaml", layout.root)
    folder = layout.state / ".pulumi" / "locks" / "organization" / "digits" / stack
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "1bb47f54-3ada-4353-bd03-989ac1fae686.json"
    content = {
        "pid": pid,
        "username": "ada",
        "hostname": host or socket.gethostname(),
        "timestamp": "2026-11-21T10:47:43.521792024Z",
    }
    file.write_text(json.dumps(content))
    file.with_name(file.name + ".attrs").write_text('{"md5": "hlrqZA/+0ac6eTAkxRI7gw=="}')
    return file


def locks(layout: Layout) -> list[backend_locks.Lock]:
    return backend_locks.locks(layout.state, "digits", "local")


def test_without_a_lock_there_is_no_obstacle(layout: Layout, report: Report, printed: io.StringIO) -> None:
    write_lock(layout, 1, stack="vertex")
    assert locks(layout) == []
    stack.release_if_killed(layout, report, "local")
    assert printed.getvalue() == ""


def test_the_lock_of_a_running_pulumi_is_respected(
    layout: Layout, report: Report, started: list[subprocess.Popen[str]]
) -> None:
    process = start(started, "-c", WAIT, "pulumi up")
    write_lock(layout, process.pid)
    assert [lock.process_runs for lock in locks(layout)] == [True]
    with pytest.raises(
        ChoreError, match=f"another pulumi is running, process {process.pid} of ada"
    ) as caught:
        stack.release_if_killed(layout, report, "local")
    assert "2026-11-21T10:47:43Z" in str(caught.value)
    with pytest.raises(ChoreError, match="That process is running"):
        stack.unlock(layout, report, stack="local", force=False)


def test_the_lock_of_a_killed_pulumi_is_no_obstacle(
    layout: Layout, started: list[subprocess.Popen[str]]
) -> None:
    process = start(started, "-c", WAIT, "pulumi up")
    write_lock(layout, process.pid)
    process.kill()
    process.wait()
    assert [lock.process_runs for lock in locks(layout)] == [False]
    stack.refuse_if_locked(layout, "local")


def test_one_whose_end_nobody_has_asked_for_is_not_a_holder(
    layout: Layout, started: list[subprocess.Popen[str]]
) -> None:
    process = start(started, "-c", WAIT, "pulumi up")
    write_lock(layout, process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert [lock.process_runs for lock in locks(layout)] == [False]
    os.kill(process.pid, 0)  # it still exists


def test_a_reused_process_id_is_not_a_holder(layout: Layout, started: list[subprocess.Popen[str]]) -> None:
    write_lock(layout, start(started, "-c", WAIT, "something else").pid)
    assert [lock.process_runs for lock in locks(layout)] == [False]


def test_a_lock_of_another_host_is_left_to_the_user(layout: Layout, report: Report) -> None:
    write_lock(layout, 1, host="elsewhere")
    assert [lock.process_runs for lock in locks(layout)] == [None]
    with pytest.raises(ChoreError, match=r"on elsewhere, since .*make unlock FORCE=1"):
        stack.release_if_killed(layout, report, "local")
    with pytest.raises(ChoreError, match="cannot be checked from this host"):
        stack.unlock(layout, report, stack="local", force=False)


def test_an_empty_lock_is_that_of_a_killed_process_after_a_minute(
    layout: Layout, report: Report, printed: io.StringIO
) -> None:
    file = write_lock(layout, 1)
    file.write_text("")
    with pytest.raises(ChoreError, match="is locked by"):
        stack.refuse_if_locked(layout, "local")
    os.utime(file, (file.stat().st_mtime - 61,) * 2)
    stack.refuse_if_locked(layout, "local")
    (lock,) = locks(layout)
    assert (lock.process_runs, str(lock)) == (False, f"a process that wrote nothing into {file}")
    stack.release_if_killed(layout, report, "local")
    assert "which was killed. Removing the lock" in printed.getvalue()
    assert locks(layout) == []


def test_an_unreadable_lock_counts_as_held(layout: Layout) -> None:
    write_lock(layout, 1).write_text('{"pid": ')
    with pytest.raises(ChoreError, match="make unlock FORCE=1"):
        stack.refuse_if_locked(layout, "local")


def companion(
    started: list[subprocess.Popen[str]], home: Path, port: int, *, command: str = "-m pulumi.dynamic"
) -> subprocess.Popen[str]:
    """Start a process with the command line of Pulumi's plugin process."""
    env = {"PULUMI_HOME": str(home)}
    return start(started, "-c", WAIT, command, f"127.0.0.1:{port}", env=env)


def test_only_processes_of_this_clone_without_an_engine_are_orphans(
    layout: Layout, started: list[subprocess.Popen[str]]
) -> None:
    home = layout.pulumi_home
    with socket.socket() as engine, socket.socket() as unused:
        engine.bind(("127.0.0.1", 0))
        engine.listen()
        unused.bind(("127.0.0.1", 0))
        alive, gone = engine.getsockname()[1], unused.getsockname()[1]
        real = ("-u", "-m", "pulumi.dynamic", f"127.0.0.1:{gone}")
        orphans = [
            start(started, *real, env={"PULUMI_HOME": str(home)}),
            companion(started, home, gone),
            companion(started, home, gone, command="/usr/bin/pulumi-language-python"),
            companion(started, home, gone, command="/usr/bin/pulumi-language-python-exec --monitor"),
            companion(started, home, gone, command="/bin/sh /usr/bin/pulumi-resource-pulumi-python"),
        ]
        companion(started, home, alive)
        companion(started, home.with_name("pulumi-home-2"), gone)
        companion(started, home, gone, command="-m vertex_emulator")
        found = backend_locks.orphaned_processes(home)
        assert {process.pid for process in found} == {process.pid for process in orphans}
        backend_locks.end(found, grace=0.2)
        for process in orphans:
            process.wait()
        assert backend_locks.orphaned_processes(home) == []


def test_a_process_that_ignores_sigterm_is_killed(started: list[subprocess.Popen[str]]) -> None:
    process = start(started, "-c", f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAIT}")
    victims = [process for process in backend_locks.processes() if process.pid == started[0].pid]
    backend_locks.end(victims, grace=0.2)
    assert process.wait() == -signal.SIGKILL


PROGRAM = """
import time, pulumi
print("started", flush=True)
time.sleep(60)
"""


def test_a_killed_up_is_recognised_and_unlocked(layout: Layout, report: Report, root: Path) -> None:
    """Kill `up` of the real CLI on the committed files of the stack."""
    ready = clone_with(PROGRAM, layout=layout, root=root)
    pulumi(layout, ready, "stack", "select", "--create", "local")
    up = subprocess.Popen(
        [ready.cli.program, "up", "--yes", "--skip-preview", "--stack", "local"],
        cwd=layout.root,
        env=ready.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert up.stdout
        seen = []
        for line in up.stdout:
            seen.append(line)
            if "started" in line:
                break
        assert [lock.pid for lock in locks(layout)] == [up.pid], seen
    finally:
        up.kill()
        up.communicate()

    stack.refuse_if_locked(layout, "local")
    backend_locks.end(backend_locks.orphaned_processes(layout.pulumi_home))
    assert stack.remove_lock(layout, report, ready, stack="local") == 0
    assert locks(layout) == []
    eventually(lambda: not remaining(layout), what=lambda: remaining(layout))
    for name in ("Pulumi.yaml", "Pulumi.local.yaml"):
        assert (layout.root / name).read_text() == (root / name).read_text()


def remaining(layout: Layout) -> list[str]:
    """Return the processes that were started with this clone's Pulumi home."""
    mine = f"PULUMI_HOME={layout.pulumi_home}"
    return [process.command for process in backend_locks.processes() if mine in process.environment]
