"""Keep the records of jobs in step with their supervisors, also after a restart of the emulator.

A record is committed before its supervisor starts. Afterwards each read of the record applies what the
supervisor has written into the job's folder.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vertex_emulator.client.interpreter import interpreter
from vertex_emulator.job_folder import folder as job_folder
from vertex_emulator.job_folder import outcome, progress
from vertex_emulator.job_folder.folder import DELETED, JobFolder
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.store import JobStore, WaitingJob, WaitingJobs
from vertex_emulator.kernel import file_limit, machine_clock, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import OuterLock
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.replicas.supervisor import fork_server
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.records import Record

log = logging.getLogger(__name__)


class Supervisors:
    """The supervisor processes of one emulator.

    They outlive the emulator, and only the locks of their folders show which are alive. None is started
    before `ready` has returned.
    """

    def __init__(self, timeouts: DaemonTimeouts = DAEMON) -> None:
        self.ready: Callable[[], None] = lambda: None
        self._timeouts = timeouts
        self._started: set[str] = set()

    def start(self, job_id: str, folder: JobFolder) -> None:
        """Start the supervisor of a job, detached, unless one is alive. Raises `OSError`."""
        self.ready()
        lock = folder.hold(seconds=self._timeouts.job_folder)
        if lock is None:
            return
        try:
            environment = {**os.environ, "PYTHONSAFEPATH": "1"}
            server = fork_server.shared(interpreter())
            server.fork(folder.path, environment, lock=lock, log=folder.supervisor_log)
        finally:
            os.close(lock)
        self._started.add(job_id)

    def has_started(self, job_id: str) -> bool:
        """Return whether this emulator has started the supervisor of a job."""
        return job_id in self._started

    def is_alive(self, folder: JobFolder) -> bool:
        """Return whether the supervisor of a job is running or about to run."""
        return folder.is_held()


_LAST_LINES = 5


class Reconciler:
    """Brings the records of one emulator's jobs up to date; `jobs_dir` has a folder for each job."""

    def __init__(
        self,
        jobs_dir: Path,
        store: JobStore,
        supervisors: Supervisors,
        waiting: WaitingJobs,
        time: Clock,
        scheduler: Scheduler,
        timeouts: DaemonTimeouts,
    ) -> None:
        self._timeouts = timeouts
        self._jobs_dir = jobs_dir
        self._store = store
        self._supervisors = supervisors
        self._waiting = waiting
        self._time = time
        self._lock = OuterLock(store.database)
        self._found = [path.name for path in jobs_dir.glob("*")]
        self._trash: deque[Path] = deque()
        self._ended: deque[str] = deque(self._found)
        self._removals = scheduler.add("files of ended and deleted jobs", self._remove_files)
        self._taking = threading.Lock()
        self._taken: dict[str, int] = {}

    def folder(self, job_id: str) -> JobFolder:
        """Return the folder of a job."""
        return JobFolder(self._jobs_dir / job_id)

    def recover(self) -> None:
        """Resume the jobs of an earlier emulator; start supervisors that are missing."""
        self._remove_orphans()
        for job_id in self._store.ids_in(store.CANCELLING):
            if job_id in self._waiting:  # the emulator was killed before it ended the job
                self.end_waiting(job_id, outcome.cancelled())
        for record in self._store.started():
            folder = self.folder(record.id)
            if record.state == store.CANCELLING and not folder.cancel.exists():
                with contextlib.suppress(OSError):  # its folder is gone; `refresh` ends the job
                    self.request_cancel(record.id)
            self.refresh(record)

    def live(self) -> list[Record]:
        """Return the current records of the jobs that have started and not ended."""
        records = []
        for record in self._store.started():
            with contextlib.suppress(RpcError):  # it has ended and was deleted meanwhile
                records.append(self.refresh(record))
        return [record for record in records if record.state not in store.TERMINAL]

    def take_in_reports(self) -> None:
        """Apply what supervisors have reported since the last call, for those who wait for changes.

        A report about replicas alone changes no record, so it is added to the log of changes here.
        """
        if not self._taking.acquire(blocking=False):  # another thread does it just now
            return
        try:
            started = self._store.started_ids()
            for job_id in started:
                folder = self.folder(job_id)
                reported = _modified(folder.state)
                if self._taken.get(job_id) == reported and self._supervisors.is_alive(folder):
                    continue
                if (record := self._store.find(job_id)) is not None:
                    with contextlib.suppress(RpcError):  # it was deleted just now
                        self.refresh(record)
                if self._taken.get(job_id) != reported:
                    self._store.database.change_log.add([f"{store.CUSTOM_JOBS.id}/{job_id}"])
                    self._taken[job_id] = reported
            for gone in self._taken.keys() - set(started):
                del self._taken[gone]
        finally:
            self._taking.release()

    def waiting(self) -> Sequence[WaitingJob]:
        """Return the jobs that have not started, oldest first."""
        return self._waiting.all()

    def add(self, place: Place, job_id: str, job: DynamicMessage, *, wait: WaitingJob | None = None) -> None:
        """Record a job whose folder exists, then start its supervisor, or let it wait with `wait`.

        Both happen under the lock: a reader between the two would find the supervisor missing. Raises
        `sqlite3.Error`.
        """
        with self._lock:
            if wait is None:
                self._store.insert(place, job_id, job)
                self._start(job_id)
            else:
                with self._store.transaction():
                    self._store.insert(place, job_id, job)
                    self._waiting.put(wait)

    def admit(self, one: WaitingJob, *, starts: int) -> WaitingJob:
        """Make a queued job PENDING, to start at a time in microseconds. Return its new waiting entry."""
        changed = replace(one, queued=False, starts=starts)
        now = times.now(self._time)
        with self._lock:
            if one.id in self._waiting:  # not cancelled meanwhile
                with self._store.transaction():
                    self._store.change(one.id, lambda job: store.enter(job, store.PENDING, at=now))
                    self._waiting.put(changed)
        return changed

    def update_waiting(self, one: WaitingJob) -> None:
        """Replace the entry of a waiting job; do nothing if it was cancelled meanwhile."""
        with self._lock:
            if one.id in self._waiting:
                self._waiting.put(one)

    def shift_waiting(self, by: int) -> None:
        """Move all waiting times after the clock has jumped, so that every job waits as long as before."""
        with self._lock, self._store.transaction():
            for one in self._waiting.all():
                gives_up = None if one.gives_up is None else one.gives_up + by
                self._waiting.put(replace(one, starts=one.starts + by, gives_up=gives_up))

    def start_waiting(self, job_id: str) -> None:
        """Start a job that has waited."""
        with self._lock:
            if self._waiting.remove(job_id):
                self._start(job_id)

    def end_waiting(self, job_id: str, how: outcome.Outcome) -> None:
        """End a job that has waited and never ran."""
        with self._lock:
            if job_id in self._waiting:
                with self._store.transaction():  # otherwise a kill between the two would let it start
                    self._end(job_id, how)
                    self._waiting.remove(job_id)

    def _start(self, job_id: str) -> None:
        """Start the supervisor of a recorded job; the job fails if that is impossible."""
        try:
            self._supervisors.start(job_id, self.folder(job_id))
        except OSError as error:
            why = f"The job's supervisor could not be started: {error}.{file_limit.remedy(error)}"
            self._end(job_id, outcome.broken(why))

    def request_cancel(self, job_id: str) -> None:
        """Ask the supervisor to cancel the job; a job without a supervisor ends at once. Raises `OSError`."""
        with self._lock:
            if job_id in self._waiting:
                with self._store.transaction():
                    self._end(job_id, outcome.cancelled())
                    self._waiting.remove(job_id)
                return
        folder = self.folder(job_id)
        folder.cancel.touch()
        folder.ring()

    def wake_supervisors(self) -> None:
        """Make every supervisor check its folder and the clock now."""
        for job_id in self._store.started_ids():
            self.folder(job_id).ring()

    def refresh(self, record: Record) -> Record:
        """Bring a record up to date with its supervisor; end the job if the supervisor is gone."""
        if record.state in store.TERMINAL:
            return record
        with self._lock:
            if record.id in self._waiting:
                return record
            if self.folder(record.id).unreported is not None:
                with self._store.database.reserve.spend():  # the supervisor tries again in a moment
                    self._store.database.reserve.make_room()
            alive = self._supervisors.is_alive(self.folder(record.id))
            current = self._apply(record)
            if alive or current.state in store.TERMINAL:
                return current
            return self._without_supervisor(current)

    def _apply(self, record: Record) -> Record:
        events, _ = progress.read(self.folder(record.id))

        def follow(job: DynamicMessage) -> bool:
            entered = [store.enter(job, each.state, at=each.at, error=each.error) for each in events]
            return any(entered)

        gone = not events and not self.folder(record.id).path.exists() and self._store.find(record.id) is None
        current = self._change(record.id, follow) if events else record
        if current is None or gone:  # the supervisor of a deleted job may still be running
            raise _not_found(record.id)
        if current.state in store.TERMINAL:
            self._ended.append(record.id)
            self._removals.wake()
        return current

    def _change(self, job_id: str, change: Callable[[Any], bool]) -> Record | None:
        """Change a record. On a full disk, return what it will be: the supervisor's report stays."""
        try:
            return self._store.change(job_id, change)
        except sqlite3.Error as error:
            if not is_out_of_space(error):
                raise
        record = self._store.find(job_id)
        if record is None:
            return None
        change(record.message)
        state = store.state_of(record.message)
        return replace(record, state=state, live=state not in store.TERMINAL)

    def _without_supervisor(self, seen: Record) -> Record:
        record = self._store.find(seen.id)
        if record is None:
            raise _not_found(seen.id)
        if record.state in store.TERMINAL:  # cancelled while it waited for its start
            return record
        folder = self.folder(record.id)
        if not folder.path.exists():
            why = f"The folder of the job, {folder.path}, was deleted before the job ended, with its logs."
            return self._end(record.id, outcome.broken(f"{why} Create the job again."))
        if (state := folder.unreported) is not None:
            return self._end(record.id, outcome.unreported(state))
        if folder.supervisor.exists():
            return self._end(
                record.id,
                outcome.broken(
                    "The supervisor of the job was killed, or this machine was restarted; the replicas were "
                    "stopped with it. Create the job again."
                ),
            )
        last_words = _last_lines(folder.supervisor_log)
        if last_words or self._supervisors.has_started(record.id):
            return self._end(
                record.id,
                outcome.broken(
                    f"The job's supervisor could not start. Its last lines:\n{last_words or '    (none)'}"
                ),
            )
        self._start(record.id)  # the emulator was killed before it started the supervisor
        return record

    def _end(self, job_id: str, how: outcome.Outcome) -> Record:
        now = times.now(self._time)
        error = {"code": how.code, "message": how.message}

        def end(job: DynamicMessage) -> bool:
            if store.state_of(job) == store.CANCELLING:
                cancelled = outcome.cancelled()
                return store.enter(
                    job,
                    store.CANCELLED,
                    at=now,
                    error={"code": cancelled.code, "message": cancelled.message},
                )
            return store.enter(job, how.state, at=now, error=error)

        record = self._change(job_id, end)
        if record is None:
            raise _not_found(job_id)
        return record

    def remove(self, job_id: str) -> None:
        """Remove the folder of a job that has ended: its name at once, its files in the background.

        The job's supervisor, which has reported the end, may still be removing files of large replicas.
        """
        self._put_away(job_id)

    def await_exit(self, job_id: str) -> None:
        """Wait a few seconds until the supervisor of a job that has ended has exited."""
        folder = self.folder(job_id)
        timeouts = self._timeouts.at_least(folder.timeout_scale)
        deadline = machine_clock.monotonic() + timeouts.supervisor_end
        while self._supervisors.is_alive(folder) and machine_clock.monotonic() < deadline:
            machine_clock.sleep(0.005)

    def _put_away(self, name: str) -> None:
        """Rename a folder, so that it is removed in the background."""
        trash = self._jobs_dir / f"{DELETED}{secrets.token_hex(8)}"
        with contextlib.suppress(FileNotFoundError):
            (self._jobs_dir / name).rename(trash)
            self._trash.append(trash)
            self._removals.wake()

    def _remove_files(self) -> Next:
        """Remove deleted jobs, and what the replicas of jobs that have ended had for themselves alone."""
        while self._trash:
            remove_tree(self._trash.popleft())
        while self._ended:
            job_id = self._ended.popleft()
            record = self._store.find(job_id)
            if record is not None and record.state in store.TERMINAL:
                for path in self.folder(job_id).private_folders():
                    remove_tree(path)
        return Next()

    def _remove_orphans(self) -> None:
        """Remove folders of jobs without a record: the emulator was killed while it made or removed a job."""
        for name in self._found:
            if not name.startswith(DELETED) and self._store.find(name) is not None:
                continue
            if job_folder.is_own(self._jobs_dir / name):
                self._put_away(name)
            else:
                log.warning("%s was not made by the emulator, and stays", self._jobs_dir / name)


def _modified(path: Path) -> int:
    """Return when a file was written, in nanoseconds; 0 if it does not exist."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _not_found(job_id: str) -> RpcError:
    return RpcError("NOT_FOUND", f"The job {job_id} no longer exists.")


def _last_lines(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
