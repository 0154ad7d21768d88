"""Tells who waits for a job that it has ended, also while nobody else looks at it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from vertex_training.emulator.jobs.store import JobStore
from vertex_training.emulator.jobs.tracking import Tracker
from vertex_training.emulator.rpc import RpcError
from vertex_training.emulator.vertex.records import Record

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.05

OnEnd = Callable[[str, "Record | None"], None]
"""Called with a job's id and its record; None: it was deleted meanwhile."""


class Ends:
    """Those who wait for jobs; in memory only: after a restart they ask again."""

    def __init__(self, store: JobStore, tracker: Tracker) -> None:
        self._store = store
        self._tracker = tracker
        self._waiting: dict[str, list[OnEnd]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="ends of jobs", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; nobody is called after this returns."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def watch(self, job_id: str, on_end: OnEnd) -> None:
        """Call `on_end` once, in the thread of this object, when the job has ended."""
        with self._changed:
            self._waiting.setdefault(job_id, []).append(on_end)
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                watched = list(self._waiting)
            for job_id in watched:
                self._look(job_id)
            with self._changed:
                if not self._closed:
                    self._changed.wait(_POLL_SECONDS)

    def _look(self, job_id: str) -> None:
        record = self._store.find(job_id)
        try:
            record = record and self._tracker.refresh(record)
        except RpcError:  # it was deleted just now
            record = None
        if record is not None and record.live:
            return
        with self._changed:
            calls = self._waiting.pop(job_id, [])
        for call in calls:
            try:
                call(job_id, record)
            except Exception:  # the others are to be told nevertheless
                log.exception("The end of job %s could not be dealt with", job_id)
