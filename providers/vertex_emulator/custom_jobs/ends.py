"""Tells who waits for a job that it has ended, also while nobody else looks at it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from vertex_emulator.custom_jobs.store import JobStore
from vertex_emulator.custom_jobs.tracking import Tracker
from vertex_emulator.kernel.agenda import Agenda, Next
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex.records import Record

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.05

OnEnd = Callable[[str, "Record | None"], None]
"""Called with a job's id and its record; None: it was deleted meanwhile."""


class Ends:
    """Those who wait for jobs; in memory only: after a restart they ask again."""

    def __init__(self, store: JobStore, tracker: Tracker, agenda: Agenda) -> None:
        self._store = store
        self._tracker = tracker
        self._waiting: dict[str, list[OnEnd]] = {}
        self._lock = threading.Lock()
        self._task = agenda.add("ends of jobs", self._look_at_all)

    def watch(self, job_id: str, on_end: OnEnd) -> None:
        """Call `on_end` once, in a thread of its own, when the job has ended."""
        with self._lock:
            self._waiting.setdefault(job_id, []).append(on_end)
        self._task.wake()

    def _look_at_all(self) -> Next:
        with self._lock:
            watched = list(self._waiting)
        for job_id in watched:
            self._look(job_id)
        return Next(seconds=_POLL_SECONDS if self._waiting else None)

    def _look(self, job_id: str) -> None:
        record = self._store.find(job_id)
        try:
            record = record and self._tracker.refresh(record)
        except RpcError:  # it was deleted just now
            record = None
        if record is not None and record.live:
            return
        with self._lock:
            calls = self._waiting.pop(job_id, [])
        for call in calls:
            try:
                call(job_id, record)
            except Exception:  # the others are to be told nevertheless
                log.exception("The end of job %s could not be dealt with", job_id)
