"""JobService for custom jobs: the service that other services use, and the methods of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import progress
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.logs import DEFAULT_LIMIT
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.admin import ClusterContract, admin_routes, replica_routes
from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.jobs.custom.job_watcher import JobWatcher, OnEnd
from vertex_emulator.jobs.custom.queue import capacity_routes
from vertex_emulator.jobs.custom.queue.capacity import Capacities, Demand, demand
from vertex_emulator.jobs.custom.queue.queue import Allocator, Queue
from vertex_emulator.jobs.custom.queue.slots import Slots, StartDelay
from vertex_emulator.jobs.custom.reconciler import Reconciler, Supervisors
from vertex_emulator.jobs.custom.stale_objects import StaleObjects
from vertex_emulator.jobs.custom.store import CUSTOM_JOBS, JobStore, WaitingJobs
from vertex_emulator.jobs.custom.submission import JobDefaults, JobSubmitter, cannot_write
from vertex_emulator.jobs.custom.usage import UsageRoutes
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import FILE, Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.images.resolution import Images
from vertex_emulator.replicas.network.setting import ReplicaNetwork
from vertex_emulator.replicas.plan import GRACE_SECONDS, NO_ADDITION, RESTART_SECONDS, Addition
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.services.logging import entries as logging_api
from vertex_emulator.services.quotas.admin import quota_routes
from vertex_emulator.services.quotas.limits import Quotas, Use
from vertex_emulator.services.resource_engine import names
from vertex_emulator.services.resource_engine.job_methods import JobMethods, stopping
from vertex_emulator.services.resource_engine.machine_types import UnknownTypes
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Record


class JobService:
    """The custom jobs of one emulator.

    `environment` is added to the variables of every replica. If `sandbox` is None, it is found by trying.
    `waiting_jobs` opens the store of the jobs that wait.
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
        waiting_jobs: Callable[[Database], WaitingJobs] = WaitingJobs,
        time: Clock | None = None,
        timeouts: DaemonTimeouts = DAEMON,
    ) -> None:
        self._data_dir = data_dir
        self._scheduler = scheduler
        self._clock = Clock(data_dir / FILE) if time is None else time
        self.store = JobStore(database, self._clock)
        self._supervisors = supervisors or Supervisors(timeouts)
        self._reconciler = Reconciler(
            data_dir / "jobs",
            self.store,
            self._supervisors,
            waiting_jobs(database),
            self._clock,
            scheduler,
            timeouts,
        )
        self._watcher = JobWatcher(self.store, self._reconciler, scheduler)
        self.start_delay = StartDelay()
        self.unknown_types = UnknownTypes(False)
        self.contract = ClusterContract("observed")
        self.may_act_as: Callable[[str], bool] = lambda _: True
        self.network = ReplicaNetwork(lambda: self._submitter.sandbox(), timeouts=timeouts)
        self.stale_objects = StaleObjects(lambda: self._submitter.sandbox())
        self.quotas = Quotas(database, self._quota_uses, changed=self._wake)
        self.capacities = Capacities(database, self._machine_uses, changed=self._wake)
        self.slots = Slots(changed=self._wake)
        self._usage = UsageRoutes(self.records, self.replicas)
        self._queue = Queue(
            self._reconciler,
            self.store,
            self.quotas,
            self.capacities,
            self.slots,
            self.start_delay,
            self._clock,
        )
        self._all_jobs = AllJobs(
            data_dir / "jobs",
            self.store,
            self._reconciler,
            operations.stored,
            self.quotas,
            self.capacities,
            self.slots,
            self.start_delay,
            self.unknown_types,
            self.contract,
            self.network,
            self.stale_objects,
            self._clock,
            timeouts,
        )
        self._methods = JobMethods(
            descriptors.JOB_SERVICE,
            self.store,
            operations,
            self._clock,
            states=store.names(),
            create=self.create,
            cancel=self.cancel,
            delete=lambda record: self.remove(record.id),
            current=self._reconciler.refresh,
            refresh=self._reconciler.live,
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
                timeouts=timeouts,
            ),
            images=images,
            reconciler=self._reconciler,
            queue=self._queue,
            contract=self.contract,
            network=self.network,
            stale_objects=self.stale_objects,
            clock=self._clock,
            sandbox=sandbox,
        )

    # For the server

    def run_after(self, ready: Callable[[], None]) -> None:
        """Start supervisors only once `ready` has returned."""
        self._supervisors.ready = ready

    def routes(self) -> list[Route]:
        """Return the admin routes."""
        return [
            *admin_routes(
                self.records,
                self.replicas,
                self._reconciler.folder,
                self._reconciler.live,
                self._queue.reasons,
            ),
            *replica_routes(self.records, self._reconciler.folder),
            *self._usage.routes(),
            *self.start_delay.routes(),
            *self.unknown_types.routes(),
            *self.contract.routes(),
            *self.network.routes(),
            *self.stale_objects.routes(),
            *quota_routes(self.quotas),
            *capacity_routes.capacity_routes(self.capacities),
            *self.slots.routes(),
        ]

    def start(self) -> None:
        """Resume the jobs of an earlier emulator; start supervisors that are missing."""
        self._submitter.find_sandbox_soon(self._scheduler)
        self._reconciler.recover()

    def live_jobs(self) -> int:
        """Return how many jobs have not ended."""
        return len(self._reconciler.live()) + len(self._reconciler.waiting())

    def take_in_reports(self) -> None:
        """Apply what supervisors have reported since the last call."""
        self._reconciler.take_in_reports()

    @contextmanager
    def clock_changing(self, jump: int) -> Iterator[None]:
        """Let waiting jobs and supervisors follow the clock, which the caller sets within the block.

        The time of day jumps by `jump` microseconds while no time passes.
        """
        with self._queue.clock_jump(jump):
            yield
        self._reconciler.wake_supervisors()

    def all_jobs(self) -> AllJobs:
        """Return the view of all jobs at once."""
        return self._all_jobs

    def info(self) -> Mapping[str, Any]:
        """Return what the emulator's information shows about this service."""
        sandbox = self._submitter.sandbox()
        return {
            "sandbox": sandbox.describe(),
            "gcs": sandbox.shows_gcs,
            "capacities": capacity_routes.views(self.capacities),
            **self.network.info(),
        }

    # Methods of the API

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        return self._methods.bindings()

    def create(self, request: DynamicMessage, headers: Mapping[str, str]) -> DynamicMessage:
        """Create a job."""
        place = names.parse_parent(request.parent)
        allowed = self.unknown_types.are_allowed(headers)
        self.check_account(request.custom_job)
        return self.submit(place, request.custom_job, allow_unknown_types=allowed).message

    def cancel(self, record: Record) -> None:
        """Ask a job to stop. Raises `RpcError`, also if the job has ended."""
        now = times.now(self._clock)
        changed = self.store.change(record.id, lambda job: store.enter(job, store.CANCELLING, at=now))
        stopping(CUSTOM_JOBS, record.name, changed)
        try:
            self._reconciler.request_cancel(record.id)
        except OSError as error:
            raise cannot_write(self._data_dir, error) from error

    # For services whose resources run as custom jobs

    def check(
        self, place: Place, job: DynamicMessage, *, allow_unknown_types: bool = True
    ) -> Mapping[str, ReplicaImage]:
        """Check whether a `CustomJob` message can run in a location. Return its images. Raises `RpcError`.

        Only a request from outside decides whether unknown machine types are allowed; later checks allow
        them.
        """
        self.check_account(job)
        return self._submitter.check(place, job, allow_unknown_types=allow_unknown_types)

    def check_account(self, job: DynamicMessage) -> None:
        """Check that the caller may run a job as its service account. Raises `RpcError`."""
        account = job.job_spec.service_account
        if account and not self.may_act_as(account):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"You do not have permission to act as service_account: {account}. (or it may not exist).",
            )

    def submit(
        self,
        place: Place,
        custom_job: DynamicMessage,
        *,
        addition: Addition = NO_ADDITION,
        job_id: str | None = None,
        allow_unknown_types: bool = True,
    ) -> Record:
        """Check, record and start a job. Raises `RpcError`.

        A caller that records `job_id` before the call can find out after a kill whether the job was created.
        """
        job_id = job_id or names.new_id()
        job = self._submitter.submit(
            place, custom_job, addition=addition, job_id=job_id, allow_unknown_types=allow_unknown_types
        )
        self._starts.wake()
        record = self.store.find(job_id)
        if record is None:
            raise CUSTOM_JOBS.missing(job.name)
        return replace(record, message=job)

    def use_resources(self, allocator: Allocator) -> None:
        """Let jobs run on persistent resources."""
        self._queue.allocator = allocator

    def recorded_live(self) -> Sequence[Record]:
        """Return the jobs that have not ended, as they were last refreshed."""
        return self.store.live()

    def holding_machines(self) -> Sequence[Record]:
        """Return the jobs that have not ended and are not queued."""
        self._reconciler.live()
        return self.store.holding_quota()

    def jobs_on_resource(self, place: Place, resource_id: str) -> Sequence[Record]:
        """Return the live jobs of a persistent resource, queued ones included."""
        self._reconciler.live()
        return [
            record
            for record in self.store.live()
            if record.message.job_spec.persistent_resource_id == resource_id
            and (record.place.number, record.location) == (place.number, place.location)
        ]

    def record(self, job_id: str) -> Record | None:
        """Return the current record of a job, or None."""
        record = self.store.find(job_id)
        return record and self._reconciler.refresh(record)

    def folder(self, job_id: str) -> JobFolder:
        """Return the folder of a job."""
        return self._reconciler.folder(job_id)

    def watch(self, job_id: str, on_end: OnEnd) -> None:
        """Call `on_end` once from another thread when the job has ended, at once if it already has."""
        self._watcher.watch(job_id, on_end)

    def request_cancel(self, job_id: str) -> None:
        """Ask a job to stop; do nothing if it has ended or is gone. Raises `RpcError`."""
        record = self.record(job_id)
        if record is not None and record.live:
            with suppress(RpcError):
                self.cancel(record)

    def remove(self, job_id: str) -> None:
        """Remove a job that has ended, with its folder."""
        self.store.delete(job_id)
        self._reconciler.remove(job_id)

    # For the admin view

    def records(self, job_id: str | None = None) -> list[Record]:
        """Return the current records: of one job, or of all with the newest first."""
        self.live_jobs()
        if job_id is None:
            return self.store.everywhere()
        record = self.store.find(job_id)
        return [record] if record else []

    def replicas(self, record: Record) -> Sequence[progress.ReplicaProgress]:
        """Return the replicas of a job. Replicas that a killed supervisor left running have been stopped."""
        _, replicas = progress.read(self._reconciler.folder(record.id))
        for replica in replicas:
            if record.state in store.TERMINAL and replica.state in ("pending", "running", "restarting"):
                replica.state = "stopped"
        return replicas

    def log_sources(self, job_id: str | None = None) -> Iterable[logging_api.LogSource]:
        """Yield the logs of one job, or of all jobs."""
        if job_id is None:
            records = self.store.everywhere()
        else:
            stored = self.store.find(job_id)
            records = [stored] if stored else []
        for record in records:
            yield logging_api.LogSource(
                job_id=record.id, project=record.project, folder=self._reconciler.folder(record.id).logs
            )

    # Internal

    def _wake(self) -> None:
        self._starts.wake()

    def _machine_uses(self) -> Sequence[Demand]:
        """Return the machines of each job that has started and not ended."""
        return [
            demand(record.message, region=record.location, strategy=store.strategy_of(record.message))
            for record in self._reconciler.live()
        ]

    def _quota_uses(self) -> Sequence[Use]:
        """Return what each job takes that counts against quotas.

        A job on a persistent resource does not: it uses machines that are reserved already.
        """
        return [
            Use(place=record.place, demand=store.demand_of(record.message))
            for record in self.holding_machines()
            if not record.message.job_spec.persistent_resource_id
        ]
