"""All jobs of an emulator at once, for export, import and reset.

Also ends imported jobs that were live when they were exported.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.admin import ClusterContract
from vertex_emulator.custom_jobs.network.setting import ReplicaNetwork
from vertex_emulator.custom_jobs.queue.slots import Slots, StartDelay
from vertex_emulator.custom_jobs.reconciler import Reconciler
from vertex_emulator.custom_jobs.sandbox import file_shares
from vertex_emulator.custom_jobs.store import JobStore
from vertex_emulator.job_folder import outcome
from vertex_emulator.job_folder.folder import DELETED, JobFolder
from vertex_emulator.kernel import machine_clock, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.kernel.trees import remove_tree
from vertex_emulator.quotas.limits import Quotas
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.rpc.operations import Operations
from vertex_emulator.vertex.machine_types import UnknownTypes
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived

_POLL_SECONDS = 0.01


class AllJobs:
    """The jobs of one emulator and the settings that concern them, as export, import and reset need them.

    `before_removal` runs before all jobs are removed, and stops whatever would create more of them.
    `archived` are the other resources that are exported with the jobs.
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
        network: ReplicaNetwork,
        clock: Clock,
        timeouts: DaemonTimeouts,
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
        self._network = network
        self._clock = clock
        self._timeouts = timeouts
        self.before_removal: Callable[[], None] = lambda: None
        self.archived: Sequence[Archived] = ()

    def records(self) -> Sequence[Record]:
        """Return the current records of all jobs, newest first."""
        self._reconciler.live()
        return self._store.everywhere()

    def folder(self, job_id: str) -> JobFolder:
        """Return the folder of a job."""
        return self._reconciler.folder(job_id)

    def make_staging_folder(self) -> Path:
        """Create a folder for jobs that are being imported.

        What is left of it after a kill is removed at the next start.
        """
        path = self._jobs_dir / f"{DELETED}{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        return path

    def existing(self, job_ids: Collection[str]) -> Sequence[str]:
        """Return which of the ids belong to a job."""
        return [each for each in job_ids if self._store.find(each) is not None]

    def add_ended(self, jobs: Collection[tuple[Place, str, Any]], folders: Path) -> None:
        """Add jobs that have ended, with their folders by id.

        Call it in a transaction: it adds all of them or none.
        """
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
        """End all running jobs, and remove all jobs, file shares, quotas and the start delay.

        Raises `TimeoutError` if a job does not end.
        """
        self.before_removal()
        self._delay.seconds = 0.0
        self._unknown_types.allowed = False
        self._contract.reset()
        self._network.reset()
        self._end_all()
        for record in self._store.everywhere():
            if record.state in store.TERMINAL:  # otherwise it was created just now
                self._reconciler.await_exit(record.id)  # nothing of before is left after a reset
                self._store.delete(record.id)
                self._reconciler.remove(record.id)
        self.before_removal()  # again, for resources that were created meanwhile
        file_shares.remove_all(self._jobs_dir.parent)
        self._quotas.remove()
        self._slots.reset()
        self._operations.clear()
        self._store.clear_history()

    def _end_all(self) -> None:
        """End all jobs, including those that are created meanwhile."""
        asked: set[str] = set()
        timeouts, began = self._timeouts, machine_clock.monotonic()
        while live := self._live_ids():
            for job_id in live:
                if job_id not in asked:
                    with suppress(OSError, RpcError):  # `RpcError`: it was deleted meanwhile
                        self._cancel(job_id)
                        asked.add(job_id)
                        timeouts = timeouts.at_least(self._reconciler.folder(job_id).timeout_scale)
            if machine_clock.monotonic() - began >= timeouts.jobs_end:
                raise TimeoutError(
                    f"the job {live[-1]} was cancelled, and has not ended {timeouts.jobs_end:g} s after the "
                    "reset began"
                )
            machine_clock.sleep(_POLL_SECONDS)

    def _live_ids(self) -> list[str]:
        """Return the ids of all live jobs.

        Jobs that wait come first: otherwise a quota could admit them while others end.
        """
        waiting = [one.id for one in self._reconciler.waiting()]
        return waiting + [record.id for record in self._reconciler.live()]

    def _cancel(self, job_id: str) -> None:
        now = times.now(self._clock)
        self._store.change(job_id, lambda job: store.enter(job, store.CANCELLING, at=now))
        self._reconciler.request_cancel(job_id)


def interruption_message(noun: str, state: str) -> str:
    """Return why an imported job, trial or pipeline has failed."""
    return f"The {noun} was in state {state} when it was exported; an imported {noun} is not resumed."


def end_interrupted(job: Any, *, at: str) -> bool:
    """End a live `CustomJob` or `HyperparameterTuningJob` message. Return False if it had already ended."""
    state = store.state_of(job)
    if state in store.TERMINAL:
        return False
    how = (
        outcome.cancelled()
        if state == store.CANCELLING
        else outcome.broken(interruption_message("job", state))
    )
    store.enter(job, how.state, at=at, error={"code": how.code, "message": how.message})
    return True
