"""A project with its own state, disk and emulator, and its processes: started, killed and found again."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from scripts.layout import layout
from scripts.stack import project_name
from soak.kills import disk, service
from soak.kills.desired import Desired
from soak.kills.service import Job
from support.emulated.emulator import is_alive
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.daemon import reset as emulator_reset

_HERE = Path(__file__).parent
_CLONE = layout().root
_PROGRAM = """
import pathlib
import pulumi
import pulumi_vertex_training as vt

exec(pathlib.Path(__file__).with_name("declared").read_text())
"""
LIMIT_SECONDS = 180.0
_WATCH_SECONDS = 0.4


class Hung(Exception):  # noqa: N818  not an error of the soak
    """A command did not end."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that was typed in the lane, and the file of its output."""

    process: subprocess.Popen[bytes]
    file: Path
    began: float

    @property
    def output(self) -> str:
        return self.file.read_text(errors="replace")

    @property
    def code(self) -> int | None:
        return self.process.poll()

    def family(self) -> list[psutil.Process]:
        """Return the process and everything that it started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def wait_at_most(self, seconds: float) -> None:
        """Wait so long, or until it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def wait(self) -> int:
        """Return the exit code. Raises `Hung`; then its processes are killed."""
        try:
            return self.process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            for one in self.family():
                kill(one)
            self.process.wait()
            raise Hung(self.output) from None


@dataclass
class Lane:
    """The project.

    `seen` has every job that was ever on its emulator, by name, with its last state, `there` the names at the
    last look. Those in `forgiven` were there before a `down`: what is declared afterwards runs again.
    `struck` has the ids of the custom jobs whose processes were killed.
    """

    folder: Path
    disk: disk.Disk = field(init=False)
    seen: dict[str, Job] = field(default_factory=dict)
    there: frozenset[str] = frozenset()
    forgiven: set[str] = field(default_factory=set)
    struck: set[str] = field(default_factory=set)
    _number: int = 0

    def __post_init__(self) -> None:
        self.disk = disk.make(self.folder / "disk")
        infra = self.project / "infra"
        infra.mkdir(parents=True)
        (infra / "__main__.py").write_text(_PROGRAM)
        text = f"name: {project_name(_CLONE)}\nruntime: python\nmain: infra\n"
        (self.project / "Pulumi.yaml").write_text(text)
        settings = (_CLONE / "Pulumi.local.yaml").read_text()
        (self.project / "Pulumi.local.yaml").write_text(f"{settings}  vertex-training:lookupTimeout: 120\n")

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def local(self) -> Path:
        return self.disk.folder / "local"

    @property
    def data_dir(self) -> Path:
        return self.disk.folder / "emulator"

    def write(self, desired: Desired) -> None:
        (self.project / "infra" / "declared").write_text(desired.program())

    # Commands

    def start(self, verb: str) -> Command:
        """Type the command."""
        self._number += 1
        file = self.folder / f"output-{self._number}"
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("PULUMI_", "VERTEX_"))
            },
            "VERTEX_TRAINING_DATA_DIR": str(self.data_dir),
            "GOGC": "off",  # saves a tenth of the processor time of `pulumi`
        }
        with file.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, _HERE / "typed.py", verb, self.local, self.project],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Command(process=process, file=file, began=time.monotonic())

    def run(self, verb: str) -> Command:
        """Type the command, and wait for its end. Raises `Hung`."""
        with self.watched():
            command = self.start(verb)
            command.wait()
            return command

    # State and service

    def deployment(self) -> dict[str, Any]:
        """Return the state, as the backend holds it; empty before the first, or while it is written."""
        name = project_name(_CLONE)
        file = self.local / "state" / ".pulumi" / "stacks" / name / "local.json"
        for _ in range(20):
            with contextlib.suppress(OSError, ValueError, KeyError):
                return dict(json.loads(file.read_text())["checkpoint"].get("latest") or {})
            time.sleep(0.01)
        return {}

    def in_flight(self) -> list[str]:
        """Return the operations that the engine has begun, such as `creating CustomJob`."""
        return sorted(
            f"{one['type']} {one['resource']['type'].rpartition(':')[2]}"
            for one in self.deployment().get("pending_operations") or []
        )

    def control(self) -> Control:
        """Return the controls of the emulator, which is started if necessary."""
        emulator = launcher.ensure(self.data_dir)
        return Control(url=emulator.url, token=emulator.token)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Record all jobs that the emulator has during the block. Its calls count for faults."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        control = None
        while not over.wait(_WATCH_SECONDS):
            try:
                if control is None:
                    emulator = launcher.find(self.data_dir)
                    if emulator is None:
                        continue
                    control = Control(url=emulator.url, token=emulator.token)
                self.look(control)
            except (ControlError, launcher.LauncherError, OSError):
                control = None

    def look(self, control: Control) -> None:
        """Record the jobs of this moment."""
        found = {job.name: job for job in service.runs(control)}
        self.seen.update(found)
        self.there = frozenset(found)

    def forgive(self) -> None:
        """Count no job of this moment among the runs of its declaration."""
        self.look(self.control())
        self.forgiven |= set(self.seen)

    def counted(self) -> dict[str, Job]:
        """Return the jobs that a declaration may have only one of."""
        return {name: job for name, job in self.seen.items() if name not in self.forgiven}

    # Processes

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the lane."""
        return processes_of(self.folder)

    def emulator(self) -> list[psutil.Process]:
        return [one for one in self.processes() if is_module(one, "vertex_emulator")]

    def supervisors(self) -> list[psutil.Process]:
        name = "vertex_emulator.replicas.supervisor.supervisor"
        return [one for one in self.processes() if is_module(one, name)]

    def strike(self, victims: list[psutil.Process]) -> None:
        """Record the custom jobs of the supervisors and replicas among the victims."""
        for one in self.supervisors():
            with contextlib.suppress(psutil.NoSuchProcess):
                line = words(one)  # empty if it has ended since
                if line and {one, *one.children(recursive=True)} & set(victims):
                    self.struck.add(Path(line[-1]).name)

    def replicas(self) -> list[psutil.Process]:
        """Return the programs of the replicas, below their supervisors."""
        found = []
        for one in self.supervisors():
            with contextlib.suppress(psutil.NoSuchProcess):
                found += [each for each in one.children(recursive=True) if "86400" in words(each)]
        return found

    def close(self) -> list[str]:
        """End and remove everything. Return the command lines of processes that had to be killed."""
        with contextlib.suppress(emulator_reset.ResetError):
            if self.data_dir.exists():
                emulator_reset.stop_and_end_jobs(self.data_dir)
        self._wait(lambda: not self.processes(), 10.0)
        left = [" ".join(words(one))[:200] for one in self.processes()]
        remove(self.folder)
        return left

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(0.2)
        return True


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes that have the folder in their arguments or environment."""
    mark = str(folder).encode()
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            place = Path("/proc", str(process.pid))
            text = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            if mark in text and process.pid != os.getpid():
                found.append(process)
    return [one for one in found if is_alive(one)]


def remove(folder: Path) -> None:
    """Kill all processes of a lane, of a soak that was killed as well, and remove its disk and folder."""
    for one in processes_of(folder):
        kill(one)
    disk.remove(folder / "disk")
    shutil.rmtree(folder, ignore_errors=True)


def kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def words(process: psutil.Process) -> list[str]:
    """Return the command line, empty if the process has ended."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def is_module(process: psutil.Process, name: str) -> bool:
    """Return whether it is Python with `-m NAME`."""
    line = words(process)
    return "-m" in line and line[line.index("-m") + 1 :][:1] == [name]
