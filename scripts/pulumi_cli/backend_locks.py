"""Locks of Pulumi's file backend, and processes that a killed `pulumi` leaves running.

A lock is a file `.pulumi/locks/organization/<project>/<stack>/<uuid>.json` with pid, user, host and time of
the process that made it. After a kill it stays, and so do the language host and the plugin process, which
keep waiting for the engine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPANION = re.compile(
    r"(^|/)pulumi-language-python(-exec)?(\s|$)"
    r"|/pulumi-resource-pulumi-python(\s|$)"
    r"|\s-m pulumi\.dynamic(\s|$)"
)
_WRITTEN_WITHIN = 60.0
"""Seconds within which a running Pulumi has written its lock."""

_ENGINE_ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock file. `process_runs` is None if it was made on another host, which cannot be checked."""

    file: Path
    pid: int
    user: str
    host: str
    since: str
    process_runs: bool | None

    @property
    def is_empty(self) -> bool:
        """True if a killed process left the file without content. Pulumi reads no such file."""
        return not self.pid and self.process_runs is False

    def __str__(self) -> str:
        if self.is_empty:
            return f"a process that wrote nothing into {self.file}"
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since}"


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process of this machine, with its environment if the system shows it."""

    pid: int
    command: str
    environment: str


def locks(state: Path, project: str, stack: str) -> list[Lock]:
    """Return the locks of a stack in the backend at `state`. An unreadable one counts as held elsewhere.

    Pulumi writes a lock within a moment. One that is still empty after a minute is that of a killed process.
    """
    folder = state / ".pulumi" / "locks" / "organization" / project / stack
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> Lock:
    try:
        content = json.loads(file.read_text())
        pid, host = int(content["pid"]), str(content["hostname"])
        user, since = str(content["username"]), str(content["timestamp"])
    except (OSError, ValueError, KeyError, TypeError):
        killed = _is_old_and_empty(file)
        return Lock(file=file, pid=0, user="?", host="?", since="?", process_runs=False if killed else None)
    here = host == socket.gethostname()
    since = re.sub(r"\.\d+", "", since)
    return Lock(
        file=file, pid=pid, user=user, host=host, since=since, process_runs=_is_pulumi(pid) if here else None
    )


def _is_old_and_empty(file: Path) -> bool:
    try:
        status = file.stat()
    except OSError:
        return False
    return status.st_size == 0 and time.time() - status.st_mtime > _WRITTEN_WITHIN


def _is_pulumi(pid: int) -> bool:
    """Return whether the process is running and is a `pulumi`: process ids are reused."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if _is_zombie(pid):
        return False
    named = [process for process in processes() if process.pid == pid]
    return not named or "pulumi" in named[0].command


def _is_zombie(pid: int) -> bool:
    """Return whether the process has ended and its parent has not asked how.

    It stays so for minutes or for ever where process 1 is no init, as in many containers.
    """
    if sys.platform == "linux":
        try:
            return Path("/proc", str(pid), "stat").read_text().rpartition(") ")[2].startswith("Z")
        except OSError:
            return False
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return shown.stdout.strip().startswith("Z")


def orphaned_processes(pulumi_home: Path) -> list[Process]:
    """Return language hosts and plugin processes of this clone whose engine no longer listens.

    A process belongs to this clone if it has our PULUMI_HOME in its environment. The engine's address is an
    argument of these programs.
    """
    ours = re.compile(rf"(^|[\0\s])PULUMI_HOME={re.escape(str(pulumi_home))}([\0\s]|$)")
    return [
        process
        for process in processes()
        if _COMPANION.search(process.command)
        and ours.search(process.environment)
        and _engine_is_gone(process.command)
    ]


def _engine_is_gone(command: str) -> bool:
    ports = _ENGINE_ADDRESS.findall(command)
    return bool(ports) and not any(_answers(int(port)) for port in ports)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        try:
            return probe.connect_ex(("127.0.0.1", port)) == 0
        except OSError:
            return True


def end(victims: Iterable[Process], *, grace: float = 5.0) -> None:
    """End processes with SIGTERM, then with SIGKILL after `grace` seconds."""
    remaining = [process.pid for process in victims]
    for name in (signal.SIGTERM, signal.SIGKILL):
        remaining = [pid for pid in remaining if _send(pid, name)]
        deadline = time.monotonic() + grace
        while remaining and time.monotonic() < deadline:
            time.sleep(0.05)
            remaining = [pid for pid in remaining if _send(pid, 0)]


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return not _is_zombie(pid)


def processes() -> Iterator[Process]:
    """Yield the processes of this user, with command line and environment."""
    return _from_proc() if sys.platform == "linux" else _from_ps()


def _from_proc() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            command = (
                (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
            )
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        yield Process(pid=int(folder.name), command=command, environment=environment)


def _from_ps() -> Iterator[Process]:
    """Read the processes on macOS. `ps -E` prints the environment after the command: both get the text."""
    listing = subprocess.run(
        ["ps", "-x", "-E", "-ww", "-o", "pid=,command="],  # noqa: S607 (wherever the system has it)
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    for line in listing.stdout.splitlines():
        pid, _, text = line.strip().partition(" ")
        if pid.isdigit():
            yield Process(pid=int(pid), command=text, environment=text)
