"""The custom jobs of one emulator: put together, and what the server and the other services need of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.admin import ClusterContract, admin_routes, project_routes, replica_routes
from vertex_emulator.custom_jobs.all_jobs import AllJobs
from vertex_emulator.custom_jobs.plan import GRACE_SECONDS, NOTHING, RESTART_SECONDS, Addition
from vertex_emulator.custom_jobs.queue.queue import Queue, Sharing
from vertex_emulator.custom_jobs.queue.quotas import Quotas
from vertex_emulator.custom_jobs.queue.slots import Slots, StartDelay
from vertex_emulator.custom_jobs.reconciler import Ends, OnEnd, Reconciler
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox
from vertex_emulator.custom_jobs.store import CUSTOM_JOBS, JobStore
from vertex_emulator.custom_jobs.submission import Submission, SubmissionContext, no_room
from vertex_emulator.custom_jobs.waiting import WaitingJobs
from vertex_emulator.http.messages import Route
from vertex_emulator.job_folder import progress
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.launch import Supervisors
from vertex_emulator.job_folder.logs import DEFAULT_LIMIT
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import FILE, Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.logging import entries as logging_api
from vertex_emulator.replica_images.image import ReplicaImage
from vertex_emulator.replica_images.resolution import Images
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex import names
from vertex_emulator.vertex.machine_types import UnknownTypes
from vertex_emulator.vertex.operations import ResourceOperations, cannot_cancel, not_found
from vertex_emulator.vertex.records import Record


class JobService:
    """The custom jobs of one emulator.

    `environment` is what every replica gets besides its own variables; `sandbox` None: found out by trying.
    """

    def __init__(
        self,
        data_dir: Path,
        buckets_dir: Path,
        *,
        database: Database,
        scheduler: Scheduler,
        images: Images,
        operations: ResourceOperations,
        environment: Mapping[str, str] | None = None,
        grace_seconds: float = GRACE_SECONDS,
        restart_seconds: float = RESTART_SECONDS,
        log_limit: int = DEFAULT_LIMIT,
        sandbox: Sandbox | None = None,
        supervisors: Supervisors | None = None,
        time: Clock | None = None,
    ) -> None:
        self._data_dir = data_dir
        self._clock = Clock(data_dir / FILE) if time is None else time
        self._store = JobStore(database, self._clock)
        self._supervisors = supervisors or Supervisors()
        self._reconciler = Reconciler(
            data_dir / "jobs", self._store, self._supervisors, WaitingJobs(database), self._clock
        )
        self._ends = Ends(self._store, self._reconciler, scheduler)
        self.start_delay = StartDelay()
        self.unknown_types = UnknownTypes()
        self.contract = ClusterContract()
        self.quotas = Quotas(self._holding_quota, changed=self._wake)
        self.slots = Slots(changed=self._wake)
        self._queue = Queue(
            self._reconciler, self._store, self.quotas, self.slots, self.start_delay, self._clock
        )
        self._all_jobs = AllJobs(
            data_dir / "jobs",
            self._store,
            self._reconciler,
            operations.stored,
            self.quotas,
            self.slots,
            self.start_delay,
            self.unknown_types,
            self.contract,
            self._clock,
        )
        self._starts = scheduler.add("jobs that wait for their start", self._queue.do_what_is_due)
        self._submission = Submission(
            SubmissionContext(
                data_dir=data_dir,
                buckets_dir=buckets_dir,
                environment=dict(environment or {}),
                grace_seconds=grace_seconds,
                restart_seconds=restart_seconds,
                log_limit=log_limit,
            ),
            images=images,
            reconciler=self._reconciler,
            queue=self._queue,
            contract=self.contract,
            clock=self._clock,
            sandbox=sandbox,
        )

    # --- the seam to the server

    def routes(self) -> list[Route]:
        """The admin view, and Cloud Logging."""
        return [
            *admin_routes(self.records, self.replicas),
            *replica_routes(self.records, self._reconciler.folder),
            *self.start_delay.routes(),
            *self.unknown_types.routes(),
            *self.contract.routes(),
            *self.quotas.routes(),
            *self.slots.routes(),
            *project_routes(self._store.projects),
        ]

    def start(self) -> None:
        """Take up the jobs that were there before; supervisors that are missing are started."""
        threading.Thread(target=self._submission.sandbox, name="sandbox probe", daemon=True).start()
        self._reconciler.recover()

    def live_jobs(self) -> int:
        """How many jobs have not ended."""
        return len(self._reconciler.live()) + len(self._reconciler.waiting())

    def close(self) -> None:
        """Leave the jobs to their supervisors."""
        self._supervisors.collect()

    @contextmanager
    def clock_changing(self, jump: int) -> Iterator[None]:
        """Let what waits and the supervisors follow the clock, which is set within the block.

        The time of day jumps by so many microseconds while no time passes.
        """
        with self._queue.jumping(jump):
            yield
        self._reconciler.ring_all()

    def all_jobs(self) -> AllJobs:
        """All jobs at once."""
        return self._all_jobs

    def info(self) -> Mapping[str, Any]:
        """What to tell about this service in the emulator's information."""
        sandbox = self._submission.sandbox()
        return {"sandbox": sandbox.in_words(), "gcs": sandbox.shows_gcs}

    # --- for the methods of the API

    def look(self, name: str) -> Record:
        """The job of a name, as it is now. Raises `RpcError`."""
        place, job_id = names.parse_name(name, CUSTOM_JOBS.id)
        record = self._store.get(place, job_id)
        if record is None:
            raise not_found(CUSTOM_JOBS, name)
        return self._reconciler.refresh(record)

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """The jobs of a place for a list of them, as they were seen last (`live_jobs`)."""
        return self._store.newest_first(place, before=before)

    def cancel(self, record: Record) -> None:
        """Ask a job to stop. Raises `RpcError`, also for one that has ended."""
        now = times.now(self._clock)
        changed = self._store.change(record.id, lambda job: store.enter(job, store.CANCELLING, at=now))
        if changed is None:
            raise not_found(CUSTOM_JOBS, record.name)
        if not changed.live:
            raise cannot_cancel(CUSTOM_JOBS, record.name, changed.state)
        try:
            self._reconciler.ask_to_cancel(record.id)
        except OSError as error:
            raise no_room(self._data_dir, error) from error

    # --- for the services whose resources run as custom jobs

    def check(
        self, place: Place, job: Any, *, allow_unknown_types: bool = True
    ) -> Mapping[str, ReplicaImage]:
        """Whether a job like this `CustomJob` message can run there; gives its images. Raises `RpcError`.

        What was asked for from outside says whether machine types may be unknown; later, they may.
        """
        return self._submission.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(
        self,
        place: Place,
        custom_job: Any,
        *,
        addition: Addition = NOTHING,
        job_id: str | None = None,
        allow_unknown_types: bool = True,
    ) -> Record:
        """Check, record and start a job. Raises `RpcError`.

        With `job_id`, a new one that the caller has recorded, a caller who was killed can find out whether it
        had come to that.
        """
        job_id = job_id or names.new_id()
        job = self._submission.submit(
            place, custom_job, addition=addition, job_id=job_id, allow_unknown_types=allow_unknown_types
        )
        self._starts.wake()
        record = self._store.find(job_id)
        if record is None:
            raise not_found(CUSTOM_JOBS, job.name)
        return replace(record, message=job)

    def share(self, sharing: Sharing) -> None:
        """Let jobs run on persistent resources."""
        self._queue.sharing = sharing

    def holding_machines(self) -> Sequence[Record]:
        """The jobs that have not ended and are not queued."""
        self._reconciler.live()
        return self._store.holding_quota()

    def on_resource(self, place: Place, resource_id: str) -> Sequence[Record]:
        """The jobs of a persistent resource that have not ended, queued ones too."""
        self._reconciler.live()
        return [
            record
            for record in self._store.live()
            if record.message.job_spec.persistent_resource_id == resource_id
            and (record.place.number, record.location) == (place.number, place.location)
        ]

    def record(self, job_id: str) -> Record | None:
        """A job as it is now."""
        record = self._store.find(job_id)
        return record and self._reconciler.refresh(record)

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job."""
        return self._reconciler.folder(job_id)

    def watch(self, job_id: str, on_end: OnEnd) -> None:
        """Call `on_end` once, from another thread, when the job has ended; at once where it has already."""
        self._ends.watch(job_id, on_end)

    def request_cancel(self, job_id: str) -> None:
        """Ask a job to stop; nothing for one that has ended or is gone. Raises `RpcError`."""
        record = self.record(job_id)
        if record is not None and record.live:
            with suppress(RpcError):
                self.cancel(record)

    def remove(self, job_id: str) -> None:
        """Remove a job that has ended, with its folder."""
        self._store.delete(job_id)
        self._reconciler.remove(job_id)

    # --- the admin view

    def records(self, job_id: str | None = None) -> list[Record]:
        """The jobs as they are now: one, or all with the newest first."""
        self.live_jobs()
        if job_id is None:
            return self._store.everywhere()
        record = self._store.find(job_id)
        return [record] if record else []

    def replicas(self, record: Record) -> Sequence[progress.ReplicaProgress]:
        """The replicas of a job. What a killed supervisor left running or restarting has been stopped."""
        _, replicas = progress.read(self._reconciler.folder(record.id))
        for replica in replicas:
            if record.state in store.TERMINAL and replica.state in ("pending", "running", "restarting"):
                replica.state = "stopped"
        return replicas

    def log_sources(self, job_id: str | None = None) -> Iterable[logging_api.LogSource]:
        """The logs of one job, or of all."""
        if job_id is None:
            records = self._store.everywhere()
        else:
            found = self._store.find(job_id)
            records = [found] if found else []
        for record in records:
            yield logging_api.LogSource(
                job_id=record.id, project=record.project, folder=self._reconciler.folder(record.id).logs
            )

    # --- inside

    def _wake(self) -> None:
        self._starts.wake()

    def _holding_quota(self) -> Sequence[Record]:
        """But for those that run on a persistent resource, whose machines are there already."""
        return [
            record for record in self.holding_machines() if not record.message.job_spec.persistent_resource_id
        ]
