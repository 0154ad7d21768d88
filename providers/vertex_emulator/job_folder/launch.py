"""Starting supervisors, and telling whether they live."""

from __future__ import annotations

import os
import threading

from vertex_emulator.interpreter import interpreter
from vertex_emulator.job_folder.folder import JobFolder


class Supervisors:
    """The supervisors of one emulator. They outlive it; after a restart only their folders tell of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[str, int] = {}
        self._started: set[str] = set()

    def start(self, job_id: str, folder: JobFolder) -> None:
        """Start the supervisor of a job, detached: a session of its own, standard streams to its log.

        Raises `OSError`.
        """
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        log = str(folder.supervisor_log)
        python = interpreter()
        pid = os.posix_spawn(
            python,
            [python, "-m", "vertex_emulator.custom_jobs.supervisor.supervisor", str(folder.path)],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
        )
        with self._lock:
            self._children[job_id] = pid
            self._started.add(job_id)

    def has_started(self, job_id: str) -> bool:
        """Whether this emulator has started the supervisor of a job."""
        return job_id in self._started

    def is_alive(self, job_id: str, folder: JobFolder) -> bool:
        """Whether the supervisor of a job lives or is just starting."""
        with self._lock:
            pid = self._children.get(job_id)
            if pid is not None:
                if not _has_ended(pid):
                    return True
                del self._children[job_id]
        return folder.is_held()

    def collect(self) -> None:
        """Take the ended ones out of the process table."""
        with self._lock:
            self._children = {job: pid for job, pid in self._children.items() if not _has_ended(pid)}


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
