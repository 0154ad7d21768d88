"""The custom jobs of one emulator: put together, and what the server and the other services need of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.admin import ClusterContract, admin_routes, project_routes, replica_routes
from vertex_emulator.custom_jobs.all_jobs import AllJobs
from vertex_emulator.custom_jobs.plan import GRACE_SECONDS, NO_ADDITION, RESTART_SECONDS, Addition
from vertex_emulator.custom_jobs.queue.queue import Allocator, Queue
from vertex_emulator.custom_jobs.queue.quotas import Quotas
from vertex_emulator.custom_jobs.queue.slots import Slots, StartDelay
from vertex_emulator.custom_jobs.reconciler import JobWatcher, OnEnd, Reconciler, Supervisors
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox
from vertex_emulator.custom_jobs.store import CUSTOM_JOBS, JobStore, WaitingJobs
from vertex_emulator.custom_jobs.submission import JobDefaults, JobSubmitter, cannot_write
from vertex_emulator.http.messages import Route
from vertex_emulator.job_folder import progress
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.logs import DEFAULT_LIMIT
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import FILE, Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.logging import entries as logging_api
from vertex_emulator.replica_images.image import ReplicaImage
from vertex_emulator.replica_images.resolution import Images
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError, WithHeaders
from vertex_emulator.vertex import listing, names
from vertex_emulator.vertex.answers import Answers, cannot_cancel, cannot_delete, not_found
from vertex_emulator.vertex.listing import Listing
from vertex_emulator.vertex.machine_types import UnknownTypes
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
        answers: Answers,
        environment: Mapping[str, str] | None = None,
        grace_seconds: float = GRACE_SECONDS,
        restart_seconds: float = RESTART_SECONDS,
        log_limit: int = DEFAULT_LIMIT,
        sandbox: Sandbox | None = None,
        supervisors: Supervisors | None = None,
        waiting_jobs: Callable[[Database], WaitingJobs] = WaitingJobs,
        time: Clock | None = None,
    ) -> None:
        self._data_dir = data_dir
        self._clock = Clock(data_dir / FILE) if time is None else time
        self._store = JobStore(database, self._clock)
        self._supervisors = supervisors or Supervisors()
        self._reconciler = Reconciler(
            data_dir / "jobs", self._store, self._supervisors, waiting_jobs(database), self._clock
        )
        self._watcher = JobWatcher(self._store, self._reconciler, scheduler)
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
            answers.operations,
            self.quotas,
            self.slots,
            self.start_delay,
            self.unknown_types,
            self.contract,
            self._clock,
        )
        self._starts = scheduler.add("jobs that wait for their start", self._queue.run_due)
        self._submitter = JobSubmitter(
            JobDefaults(
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
        threading.Thread(target=self._submitter.sandbox, name="sandbox probe", daemon=True).start()
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
        with self._queue.clock_jump(jump):
            yield
        self._reconciler.wake_supervisors()

    def all_jobs(self) -> AllJobs:
        """All jobs at once."""
        return self._all_jobs

    def info(self) -> Mapping[str, Any]:
        """What to tell about this service in the emulator's information."""
        sandbox = self._submitter.sandbox()
        return {"sandbox": sandbox.describe(), "gcs": sandbox.shows_gcs}

    # --- for the methods of the API

    def get(self, name: str) -> Record:
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
            self._reconciler.request_cancel(record.id)
        except OSError as error:
            raise cannot_write(self._data_dir, error) from error

    # --- for the services whose resources run as custom jobs

    def check(
        self, place: Place, job: Any, *, allow_unknown_types: bool = True
    ) -> Mapping[str, ReplicaImage]:
        """Whether a job like this `CustomJob` message can run there; gives its images. Raises `RpcError`.

        What was asked for from outside says whether machine types may be unknown; later, they may.
        """
        return self._submitter.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(
        self,
        place: Place,
        custom_job: Any,
        *,
        addition: Addition = NO_ADDITION,
        job_id: str | None = None,
        allow_unknown_types: bool = True,
    ) -> Record:
        """Check, record and start a job. Raises `RpcError`.

        With `job_id`, a new one that the caller has recorded, a caller who was killed can find out whether it
        had come to that.
        """
        job_id = job_id or names.new_id()
        job = self._submitter.submit(
            place, custom_job, addition=addition, job_id=job_id, allow_unknown_types=allow_unknown_types
        )
        self._starts.wake()
        record = self._store.find(job_id)
        if record is None:
            raise not_found(CUSTOM_JOBS, job.name)
        return replace(record, message=job)

    def use_resources(self, allocator: Allocator) -> None:
        """Let jobs run on persistent resources."""
        self._queue.allocator = allocator

    def holding_machines(self) -> Sequence[Record]:
        """The jobs that have not ended and are not queued."""
        self._reconciler.live()
        return self._store.holding_quota()

    def jobs_on_resource(self, place: Place, resource_id: str) -> Sequence[Record]:
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
        self._watcher.watch(job_id, on_end)

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


_LISTING = Listing(
    answer=f"{descriptors.VERTEX_AI}.ListCustomJobsResponse",
    items="custom_jobs",
    fields={
        "display_name": listing.DISPLAY_NAME,
        "state": listing.state_field(store.names()),
        "create_time": listing.CREATE_TIME,
        "labels": listing.LABELS,
    },
)


class JobMethods:
    """What is answered to them."""

    def __init__(self, jobs: JobService, answers: Answers) -> None:
        self._jobs = jobs
        self._answers = answers

    def bindings(self) -> Mapping[str, Binding]:
        """The methods, by their full names."""
        service = descriptors.JOB_SERVICE
        return {
            f"{service}.CreateCustomJob": WithHeaders(self.create),
            f"{service}.GetCustomJob": self.get,
            f"{service}.ListCustomJobs": self.list_jobs,
            f"{service}.CancelCustomJob": self.cancel,
            f"{service}.DeleteCustomJob": self.delete,
        }

    def create(self, request: Any, headers: Mapping[str, str]) -> Message:
        """CreateCustomJob."""
        place = names.parse_parent(request.parent)
        allowed = self._jobs.unknown_types.are_allowed(headers)
        record = self._jobs.submit(place, request.custom_job, allow_unknown_types=allowed)
        created: Message = record.message
        return created

    def get(self, request: Any) -> Message:
        """GetCustomJob."""
        found: Message = self._jobs.get(request.name).message
        return found

    def list_jobs(self, request: Any) -> Message:
        """ListCustomJobs, the newest first."""
        self._jobs.live_jobs()
        return listing.list_records(self._jobs, request, _LISTING)

    def cancel(self, request: Any) -> Message:
        """CancelCustomJob: asks only; the job is CANCELLED once none of its processes is left."""
        self._jobs.cancel(self._jobs.get(request.name))
        empty: Message = descriptors.message("google.protobuf.Empty")
        return empty

    def delete(self, request: Any) -> Message:
        """DeleteCustomJob: only of a job that has ended."""
        record = self._jobs.get(request.name)
        if record.live:
            raise cannot_delete(CUSTOM_JOBS, record.name, record.state)
        self._jobs.remove(record.id)
        return self._answers.deleted(record.place)
