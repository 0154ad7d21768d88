"""Tell other services when a custom job has ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from vertex_emulator.jobs.custom.reconciler import Reconciler
from vertex_emulator.jobs.custom.store import JobStore
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.records import Record

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.05

OnEnd = Callable[[str, "Record | None"], None]
"""Called with a job's id and its record, or None if the job was deleted meanwhile."""


class JobWatcher:
    """Calls back when jobs end. Callbacks are kept in memory: after a restart, callers register again."""

    def __init__(self, store: JobStore, reconciler: Reconciler, scheduler: Scheduler) -> None:
        self._store = store
        self._reconciler = reconciler
        self._waiting: dict[str, list[OnEnd]] = {}
        self._lock = threading.Lock()
        self._task = scheduler.add("ends of jobs", self._check_all)

    def watch(self, job_id: str, on_end: OnEnd) -> None:
        """Call `on_end` once when the job has ended, in a thread of the scheduler."""
        with self._lock:
            self._waiting.setdefault(job_id, []).append(on_end)
        self._task.wake()

    def _check_all(self) -> Next:
        with self._lock:
            watched = list(self._waiting)
        for job_id in watched:
            self._check_one(job_id)
        return Next(seconds=_POLL_SECONDS if self._waiting else None)

    def _check_one(self, job_id: str) -> None:
        record = self._store.find(job_id)
        try:
            record = record and self._reconciler.refresh(record)
        except RpcError:  # it was deleted just now
            record = None
        if record is not None and record.live:
            return
        with self._lock:
            calls = self._waiting.pop(job_id, [])
        for call in calls:
            try:
                call(job_id, record)
            except Exception:  # the other callbacks still run
                log.exception("A callback for the end of job %s failed", job_id)
