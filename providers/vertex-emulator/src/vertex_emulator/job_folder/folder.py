"""The folder of a job: the files through which the emulator and the job's supervisor exchange data.

    job.json         the job as it was created; written by the emulator
    plan.json        the plan that the supervisor runs; written by the emulator
    orders.json      orders to kill replicas; written by the emulator
    cancel           exists once the job is to be cancelled; written by the emulator
    doorbell         a FIFO; a byte in it makes the supervisor check the folder at once
    network.sock     a socket that opens connections into the job's own network; made by the supervisor
    supervisor.lock  locked as long as the supervisor is alive; touched every second
    supervisor.json  process id; exists once the supervisor has started
    supervisor.log   output of the supervisor itself
    state.json       events so far; written by the supervisor
    unreported       a link to the last state that the supervisor cannot report, because the disk is full; a
                     link needs no space
    logs/            one file for each task
    replicas/        one folder for each replica: home, work, tmp; until it ends also python, shared and image
    removed/         python, shared and image of replicas that have ended, until they are removed

Files are replaced as a whole, so that a reader never sees half of one. The folder's name is the job's id, or
begins with .deleted- once it is to be removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import locks

METRIC_FILE = "hypertune/output.metrics"
"""Path below a replica's /tmp: the default of the package `cloudml-hypertune`."""

PYTHON, SHARED = "python", "shared"
"""Names of the folders of a replica's own Python."""

IMAGE = "image"
"""Name of the folder of a replica's changes to its image."""

PRIVATE = (PYTHON, SHARED, IMAGE)

REMOVED = "removed"
"""Name of the folder of private files that the supervisor is removing."""


DELETED = ".deleted-"
"""Prefix of the folders to remove. A folder that is left over is removed after the next start."""

_ID = re.compile(r"[1-9][0-9]{18}")
_REMOVABLE = re.compile(rf"{re.escape(DELETED)}[0-9a-f]+")
_NAMES = re.compile(
    r"\.?(?:job|plan|orders|supervisor|state)\.json(?:\.[0-9]+)?|cancel|doorbell|network\.sock|supervisor\.lock"
    r"|supervisor\.log|unreported|logs|replicas|removed"
)


def is_own(path: Path) -> bool:
    """Return whether a path is the folder of a job, or one to remove, by its name and its entries.

    A folder of a person that is in the way is not: it may not be deleted.
    """
    if path.is_symlink() or not path.is_dir():
        return False
    if _REMOVABLE.fullmatch(path.name):
        return True
    try:
        return bool(_ID.fullmatch(path.name)) and all(_NAMES.fullmatch(each.name) for each in path.iterdir())
    except OSError:
        return False


def write_json(path: Path, value: object) -> None:
    """Replace the file at `path` in one step. Raises `OSError`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(json.dumps(value).encode())
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """Return the document at `path`, or None if there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def result_file(request_file: Path) -> Path:
    """Return the path of a helper process's answer to the request in a file."""
    return request_file.with_suffix(".result.json")


@dataclass(frozen=True)
class JobFolder:
    """The paths of one job's folder."""

    path: Path

    @property
    def job(self) -> Path:
        return self.path / "job.json"

    @property
    def network(self) -> Path:
        return self.path / "network.sock"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def timeout_scale(self) -> float:
        """The scale of the supervisor's timeouts; 1 without a plan."""
        try:
            return float(read_json(self.plan)["timeout_scale"])
        except (OSError, ValueError, TypeError, KeyError):
            return 1.0

    @property
    def cancel(self) -> Path:
        return self.path / "cancel"

    @property
    def doorbell(self) -> Path:
        return self.path / "doorbell"

    @property
    def lock(self) -> Path:
        return self.path / "supervisor.lock"

    @property
    def supervisor(self) -> Path:
        return self.path / "supervisor.json"

    @property
    def supervisor_log(self) -> Path:
        return self.path / "supervisor.log"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def unreported(self) -> str | None:
        """The last state that the supervisor could not report for lack of space on the disk, or None."""
        try:
            return str(self._unreported.readlink())
        except OSError:
            return None

    @property
    def _unreported(self) -> Path:
        return self.path / "unreported"

    def note_unreported(self, state: str) -> None:
        """Note that the supervisor waits for space to report a state."""
        if self.unreported != state:
            with contextlib.suppress(OSError):
                self._unreported.unlink(missing_ok=True)
                self._unreported.symlink_to(state)

    def clear_unreported(self) -> None:
        """Note that all is reported."""
        with contextlib.suppress(OSError):
            self._unreported.unlink(missing_ok=True)

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def log(self, task: str) -> Path:
        return self.logs / f"{task}.jsonl"

    def replica(self, name: str) -> Path:
        return self.path / "replicas" / name

    def private_folders(self) -> list[Path]:
        """Return what the replicas had for themselves alone: changes to images, and installed packages."""
        left = [path for name in PRIVATE for path in self.path.glob(f"replicas/*/{name}")]
        return [*left, *self.path.glob(REMOVED)]

    def metric_file(self, name: str) -> Path:
        """Return the file of a trial's metrics: in the replica's /tmp, which every sandbox has."""
        return self.replica(name) / "tmp" / METRIC_FILE

    def create(self, *, job: object, plan: object) -> None:
        """Create the folder with all files that a supervisor needs. Raises `OSError`."""
        self.logs.mkdir(parents=True)
        os.mkfifo(self.doorbell, 0o600)
        self.lock.touch()
        write_json(self.job, job)
        write_json(self.plan, plan)

    def ring(self) -> None:
        """Make a listening supervisor check the folder now; do nothing if there is no supervisor."""
        with contextlib.suppress(OSError):
            end = os.open(self.doorbell, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(end, b"!")
            finally:
                os.close(end)

    def hold(self, *, seconds: float) -> int | None:
        """Lock the folder for the life of this process. Return None if another supervisor holds it.

        Waits up to `seconds`, because `is_held` also takes the lock for a moment.
        """
        end = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = machine_clock.monotonic() + seconds
        while True:
            try:
                fcntl.flock(end, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if machine_clock.monotonic() >= deadline:
                    os.close(end)
                    return None
                machine_clock.sleep(0.005)
            else:
                return end

    def is_held(self) -> bool:
        """Return whether a supervisor is alive. The kernel releases its lock however it ends."""
        return locks.is_held(self.lock)
