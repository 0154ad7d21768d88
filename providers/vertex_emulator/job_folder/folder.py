"""The folder of a job: how the emulator and the job's supervisor leave word for each other.

    job.json         the job as it was created; written by the emulator
    plan.json        what the supervisor has to run; written by the emulator
    orders.json      replicas that are to be killed on request; written by the emulator
    cancel           is there once the job is to be cancelled; written by the emulator
    doorbell         a FIFO; a byte in it makes the supervisor look at once
    supervisor.lock  locked as long as the supervisor lives; touched every second
    supervisor.json  process id; is there once the supervisor has started
    supervisor.log   what the supervisor itself printed
    state.json       what happened so far; written by the supervisor
    logs/            one file a task
    replicas/        one folder a replica: home, work, tmp

Files are replaced as a whole, so that a reader never sees half of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METRIC_FILE = "hypertune/output.metrics"
"""Below a replica's folder for temporary files: the default of the package `cloudml-hypertune`."""

_HOLD_SECONDS = 2.0


def write_json(path: Path, value: object) -> None:
    """Replace the file at `path` in one step. Raises `OSError`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(value, indent=1), encoding="utf-8")
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """The document at `path`, None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class JobFolder:
    """The paths of one job's folder."""

    path: Path

    @property
    def job(self) -> Path:
        return self.path / "job.json"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

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
    def logs(self) -> Path:
        return self.path / "logs"

    def log(self, task: str) -> Path:
        return self.logs / f"{task}.jsonl"

    def replica(self, name: str) -> Path:
        return self.path / "replicas" / name

    def metric_file(self, name: str) -> Path:
        """Where a replica of a trial reports its metrics: in its /tmp, which it has in every sandbox."""
        return self.replica(name) / "tmp" / METRIC_FILE

    def create(self, *, job: object, plan: object) -> None:
        """Make the folder with all that a supervisor needs. Raises `OSError`."""
        self.logs.mkdir(parents=True)
        os.mkfifo(self.doorbell, 0o600)
        self.lock.touch()
        write_json(self.job, job)
        write_json(self.plan, plan)

    def ring(self) -> None:
        """Make a listening supervisor look at the folder now; nothing happens when there is none."""
        with contextlib.suppress(OSError):
            end = os.open(self.doorbell, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(end, b"!")
            finally:
                os.close(end)

    def hold(self) -> int | None:
        """Lock the folder for this process's life; None when another supervisor holds it.

        Waits a little: `is_held` has the lock too for a moment.
        """
        end = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + _HOLD_SECONDS
        while True:
            try:
                fcntl.flock(end, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(end)
                    return None
                time.sleep(0.005)
            else:
                return end

    def is_held(self) -> bool:
        """Whether a supervisor lives. The kernel gives its lock back however it ends."""
        try:
            end = os.open(self.lock, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(end, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(end)
        return False
