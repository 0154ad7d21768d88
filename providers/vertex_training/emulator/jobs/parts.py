"""All jobs at once: for export, import and reset."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vertex_training.emulator.clock import Clock
from vertex_training.emulator.jobs import clock, states
from vertex_training.emulator.jobs.folder import JobFolder
from vertex_training.emulator.jobs.names import Place
from vertex_training.emulator.jobs.quotas import Quotas
from vertex_training.emulator.jobs.start_delay import StartDelay
from vertex_training.emulator.jobs.store import JobStore, Record
from vertex_training.emulator.jobs.tracking import DELETED, Tracker
from vertex_training.emulator.operations import Operations
from vertex_training.emulator.trees import remove_tree

_END_SECONDS = 60.0
_POLL_SECONDS = 0.01


class Parts:
    """The jobs of one emulator, with the settings that concern them; implements `state.parts.JobParts`."""

    def __init__(
        self,
        jobs_dir: Path,
        store: JobStore,
        tracker: Tracker,
        operations: Operations,
        quotas: Quotas,
        delay: StartDelay,
        time: Clock,
    ) -> None:
        self._jobs_dir = jobs_dir
        self._store = store
        self._tracker = tracker
        self._operations = operations
        self._quotas = quotas
        self._delay = delay
        self._clock = time

    def records(self) -> Sequence[Record]:
        """The jobs as they are now, the newest first."""
        self._tracker.live()
        return self._store.everywhere()

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job."""
        return self._tracker.folder(job_id)

    def staging(self) -> Path:
        """A new folder for what is to become jobs; the next start removes what is left of it."""
        path = self._jobs_dir / f"{DELETED}{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        return path

    def has_any(self, job_ids: Collection[str]) -> Sequence[str]:
        """Those of the ids that jobs have."""
        return [each for each in job_ids if self._store.find(each) is not None]

    def add_ended(self, jobs: Collection[tuple[Place, str, Any]], folders: Path) -> None:
        """Add jobs that have ended, with their folders by id. All or none, within a transaction."""
        moved: list[Path] = []
        try:
            for place, job_id, job in jobs:
                self._store.insert(place, job_id, job)
                target = self._tracker.folder(job_id).path
                (folders / job_id).rename(target)
                moved.append(target)
        except BaseException:
            for path in moved:
                remove_tree(path)
            raise

    def remove_all(self) -> None:
        """End what runs, and remove all, with quotas and start delay. Raises `TimeoutError`."""
        self._delay.seconds = 0.0
        self._quotas.clear()
        now = clock.now(self._clock)
        for record in self._store.everywhere():
            if record.state not in states.TERMINAL:
                self._store.change(record.id, lambda job: states.enter(job, states.CANCELLING, at=now))
                with suppress(OSError):
                    self._tracker.ask_to_cancel(record.id)
        until = time.monotonic() + _END_SECONDS
        while left := self._ids_left():
            if time.monotonic() >= until:
                raise TimeoutError(f"the job {left[0]} has not ended for {_END_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
        for record in self._store.everywhere():
            self._store.delete(record.id)
            self._tracker.remove(record.id)
        self._operations.clear()

    def _ids_left(self) -> list[str]:
        waiting = [one.id for one in self._tracker.waiting()]
        return [record.id for record in self._tracker.live()] + waiting
