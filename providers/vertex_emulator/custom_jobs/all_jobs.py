"""All jobs at once, for export, import and reset; the end of jobs that were live when exported."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs import store as states
from vertex_emulator.custom_jobs.admin import ClusterContract
from vertex_emulator.custom_jobs.queue.quotas import Quotas
from vertex_emulator.custom_jobs.queue.slots import Slots, StartDelay
from vertex_emulator.custom_jobs.reconciler import DELETED, Reconciler
from vertex_emulator.custom_jobs.sandbox import file_shares
from vertex_emulator.custom_jobs.store import JobStore
from vertex_emulator.job_folder import outcome
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.trees import remove_tree
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.rpc.operations import Operations
from vertex_emulator.vertex.archived import Archived
from vertex_emulator.vertex.machine_types import UnknownTypes
from vertex_emulator.vertex.records import Record

_END_SECONDS = 60.0
_POLL_SECONDS = 0.01


class AllJobs:
    """The jobs of one emulator, with the settings that concern them: what export, import and reset need.

    `before_removal` is called before all are removed: it ends what would create further ones. `archived` is
    what is exported beside jobs.
    """

    def __init__(
        self,
        jobs_dir: Path,
        store: JobStore,
        reconciler: Reconciler,
        operations: Operations,
        quotas: Quotas,
        slots: Slots,
        delay: StartDelay,
        unknown_types: UnknownTypes,
        contract: ClusterContract,
        time: Clock,
    ) -> None:
        self._jobs_dir = jobs_dir
        self._store = store
        self._reconciler = reconciler
        self._operations = operations
        self._quotas = quotas
        self._slots = slots
        self._delay = delay
        self._unknown_types = unknown_types
        self._contract = contract
        self._clock = time
        self.before_removal: Callable[[], None] = lambda: None
        self.archived: Sequence[Archived] = ()

    def records(self) -> Sequence[Record]:
        """The jobs as they are now, the newest first."""
        self._reconciler.live()
        return self._store.everywhere()

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job."""
        return self._reconciler.folder(job_id)

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
                target = self._reconciler.folder(job_id).path
                (folders / job_id).rename(target)
                moved.append(target)
        except BaseException:
            for path in moved:
                remove_tree(path)
            raise

    def remove_all(self) -> None:
        """End what runs, and remove all, with file shares, quotas and start delay. Raises `TimeoutError`."""
        self.before_removal()
        self._delay.seconds = 0.0
        self._unknown_types.allowed = False
        self._contract.reset()
        self._end_all()
        for record in self._store.everywhere():
            if record.state in states.TERMINAL:  # else somebody has created it just now
                self._store.delete(record.id)
                self._reconciler.remove(record.id)
        self.before_removal()  # what somebody has created meanwhile
        file_shares.remove_all(self._jobs_dir.parent)
        self._quotas.clear()
        self._slots.reset()
        self._operations.clear()
        self._store.clear_history()

    def _end_all(self) -> None:
        """Also the jobs that are created meanwhile."""
        asked: set[str] = set()
        until = time.monotonic() + _END_SECONDS
        while left := self._ids_left():
            for job_id in left:
                if job_id not in asked:
                    with suppress(OSError, RpcError):  # `RpcError`: it was deleted meanwhile
                        self._cancel(job_id)
                        asked.add(job_id)
            if time.monotonic() >= until:
                raise TimeoutError(
                    f"the job {left[-1]} had been cancelled and had not ended {_END_SECONDS:g} s after the "
                    "reset had begun"
                )
            time.sleep(_POLL_SECONDS)

    def _ids_left(self) -> list[str]:
        """Those that wait first: while the others end, no quota is to let them in."""
        waiting = [one.id for one in self._reconciler.waiting()]
        return waiting + [record.id for record in self._reconciler.live()]

    def _cancel(self, job_id: str) -> None:
        now = times.now(self._clock)
        self._store.change(job_id, lambda job: states.enter(job, states.CANCELLING, at=now))
        self._reconciler.ask_to_cancel(job_id)


def words(noun: str, state: str) -> str:
    """Why an imported job, pipeline and so on has failed."""
    return f"The {noun} was in state {state} when it was exported; an imported {noun} does not go on."


def end(job: Any, *, at: str) -> bool:
    """End a `CustomJob` or `HyperparameterTuningJob` message; False for one that had ended."""
    state = store.state_of(job)
    if state in store.TERMINAL:
        return False
    how = outcome.cancelled() if state == store.CANCELLING else outcome.broken(words("job", state))
    store.enter(job, how.state, at=at, error={"code": how.code, "message": how.message})
    return True
