"""All jobs of an emulator at once, for export, import and reset.

Also ends imported jobs that were live when they were exported.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from vertex_emulator.job_folder import outcome
from vertex_emulator.job_folder.folder import DELETED, JobFolder
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.admin import ClusterContract
from vertex_emulator.jobs.custom.queue.capacity import Capacities
from vertex_emulator.jobs.custom.queue.slots import Slots, StartDelay
from vertex_emulator.jobs.custom.reconciler import Reconciler
from vertex_emulator.jobs.custom.stale_objects import StaleObjects
from vertex_emulator.jobs.custom.store import JobStore
from vertex_emulator.kernel import machine_clock, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.replicas.network.setting import ReplicaNetwork
from vertex_emulator.replicas.sandbox.mounts import file_shares
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.quotas.limits import Quotas
from vertex_emulator.services.resource_engine.machine_types import UnknownTypes
from vertex_emulator.services.resource_engine.records import Record

_POLL_SECONDS = 0.01


class AllJobs:
    """The jobs of one emulator and the settings that concern them, as export, import and reset need them.

    `before_removal` runs before all jobs are removed, and stops whatever would create more of them.
    `end_services` ends the live resources of other services after an import, at a time, and returns how many
    jobs and pipelines they were.
    """

    def __init__(
        self,
        jobs_dir: Path,
        store: JobStore,
        reconciler: Reconciler,
        operations: Operations,
        quotas: Quotas,
        capacities: Capacities,
        slots: Slots,
        delay: StartDelay,
        unknown_types: UnknownTypes,
        contract: ClusterContract,
        network: ReplicaNetwork,
        stale_objects: StaleObjects,
        clock: Clock,
        timeouts: DaemonTimeouts,
    ) -> None:
        self._jobs_dir = jobs_dir
        self._store = store
        self._reconciler = reconciler
        self._operations = operations
        self._quotas = quotas
        self._capacities = capacities
        self._slots = slots
        self._delay = delay
        self._unknown_types = unknown_types
        self._contract = contract
        self._network = network
        self._stale_objects = stale_objects
        self._clock = clock
        self._timeouts = timeouts
        self.before_removal: Callable[[], None] = lambda: None
        self.end_services: Callable[[str], int] = lambda _: 0

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

    def end_imported(self, *, at: str) -> int:
        """End the jobs and pipelines that were live when they were exported. Return how many they were.

        Called in the transaction of an import.
        """
        return self._store.end_all(lambda job: end_interrupted(job, at=at)) + self.end_services(at)

    def move_folders(self, job_ids: Collection[str], folders: Path) -> None:
        """Move the folders of imported jobs to their places: all of them, or none."""
        moved: list[Path] = []
        try:
            for job_id in job_ids:
                target = self._reconciler.folder(job_id).path
                (folders / job_id).rename(target)
                moved.append(target)
        except BaseException:
            for path in moved:
                remove_tree(path)
            raise

    def remove_all(self) -> None:
        """End all running jobs, and remove all jobs, file shares, quotas, capacities and the start delay.

        Raises `TimeoutError` if a job does not end.
        """
        self.before_removal()
        for setting in (self._delay, self._unknown_types, self._contract, self._network, self._stale_objects):
            setting.reset()
        self._end_all()
        for record in self._store.everywhere():
            if record.state in store.TERMINAL:  # otherwise it was created just now
                self._reconciler.await_exit(record.id)  # nothing of before is left after a reset
                self._store.delete(record.id)
                self._reconciler.remove(record.id)
        self.before_removal()  # again, for resources that were created meanwhile
        file_shares.remove_all(self._jobs_dir.parent)
        self._quotas.remove()
        self._capacities.remove()
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


def end_interrupted(job: DynamicMessage, *, at: str) -> bool:
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
