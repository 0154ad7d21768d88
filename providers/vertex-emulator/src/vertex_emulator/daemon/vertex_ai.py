"""Vertex AI: its services, and what the emulator's server needs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.notifications.service import Notifier
from vertex_emulator.jobs.persistent_resources.service import PersistentResources
from vertex_emulator.jobs.pipelines.backing import TuningJobBacking
from vertex_emulator.jobs.pipelines.service import PipelineService
from vertex_emulator.jobs.tuning.service import TuningService
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.replicas.images.resolution import Images
from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.own_api import OwnApi
from vertex_emulator.server.permissions.denials import Denials
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc import methods as rpc
from vertex_emulator.server.rpc.methods import Binding, GrpcBinding
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.cloud_scheduler.service import CloudScheduler
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.datasets.service import DatasetService
from vertex_emulator.services.endpoints.service import endpoint_service
from vertex_emulator.services.logging import methods as logging_methods
from vertex_emulator.services.logging.entries import CloudLogging, LogSource
from vertex_emulator.services.metadata.service import MetadataService
from vertex_emulator.services.models.service import ModelService
from vertex_emulator.services.notebooks.service import notebook_service
from vertex_emulator.services.project_services.services import ProjectServices
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.service import Service
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.tensorboards.service import TensorboardService

SERVICES = (
    descriptors.JOB_SERVICE,
    descriptors.PIPELINE_SERVICE,
    descriptors.MODEL_SERVICE,
    descriptors.DATASET_SERVICE,
    descriptors.PERSISTENT_RESOURCE_SERVICE,
    descriptors.TENSORBOARD_SERVICE,
    descriptors.METADATA_SERVICE,
    descriptors.ENDPOINT_SERVICE,
    descriptors.NOTEBOOK_SERVICE,
    descriptors.SCHEDULE_SERVICE,
    descriptors.OPERATIONS,
    descriptors.CLOUD_SCHEDULER,
)
"""The services of Vertex AI that have at least one method, and Cloud Scheduler."""

GRPC_SERVICES = (*SERVICES, descriptors.LOGGING)
"""The same with Cloud Logging, which has HTTP paths of its own."""


class VertexService:
    """Vertex AI of one emulator: the custom jobs, and the other services.

    `object_store` has the objects of the buckets; `job_options` are `JobService`'s.
    """

    def __init__(
        self,
        data_dir: Path,
        buckets_dir: Path,
        *,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        images: Images,
        object_store: ObjectStore,
        timeouts: DaemonTimeouts = DAEMON,
        **job_options: Any,
    ) -> None:
        self._operations = Operations(database)
        operations = ResourceOperations(self._operations, clock)
        self.jobs = JobService(
            data_dir,
            buckets_dir,
            database=database,
            scheduler=scheduler,
            images=images,
            operations=operations,
            time=clock,
            timeouts=timeouts,
            **job_options,
        )
        objects = BucketObjects(object_store)
        self._tensorboards = TensorboardService(
            database,
            operations,
            objects,
            clock,
            scheduler,
            buckets_dir=buckets_dir,
            live_jobs=self.jobs.recorded_live,
        )
        models = ModelService(database, operations, objects, clock)
        datasets = DatasetService(database, operations, objects, clock)
        persistent_resources = PersistentResources(database, clock, scheduler, operations, self.jobs)
        self.tuning = TuningService(
            self.jobs, database=database, clock=clock, scheduler=scheduler, operations=operations
        )
        pipelines = PipelineService(
            database,
            operations,
            objects,
            clock,
            scheduler,
            jobs=self.jobs,
            models=models,
            datasets=datasets,
            tuning=TuningJobBacking(self.tuning),
        )
        notifier = Notifier(
            data_dir, self.jobs, database=database, clock=clock, scheduler=scheduler, timeouts=timeouts
        )
        for runs in (self.tuning, pipelines):
            runs.store.report(created=notifier.created, ended=notifier.ended)

        def job_ended(record: Record) -> None:
            notifier.ended(record)
            self._tensorboards.uploads.ended(record)

        self.jobs.store.report(created=notifier.created, ended=job_ended)
        self._logging = CloudLogging(database, clock, self._log_sources)
        self._own_api = OwnApi()
        self._schedules = CloudScheduler(database, operations, clock, scheduler, self._own_api)
        self._services: Sequence[Service] = (
            persistent_resources,
            self.tuning,
            models,
            datasets,
            pipelines,
            self._tensorboards,
            MetadataService(database, operations, clock),
            endpoint_service(database, operations, clock),
            notebook_service(database, operations, clock),
            self._logging,
            notifier,
            self._schedules,
        )
        everything = self.jobs.all_jobs()
        everything.before_removal = self._remove_services
        everything.end_services = lambda at: sum(service.end_imported(at) for service in self._services)

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods of `SERVICES` by full name."""
        bindings = {
            **self.jobs.bindings(),
            **self._operations.bindings(),
        }
        for service in self._services:
            bindings |= service.bindings()
        return bindings

    def grpc_bindings(self) -> Mapping[str, GrpcBinding]:
        """Return the implemented methods of `GRPC_SERVICES` by full name."""
        return {
            **self.bindings(),
            **self._tensorboards.streams(),
            **logging_methods.bindings(self._logging),
        }

    def routes(self) -> Sequence[Route]:
        """Return the admin views, Cloud Logging, and the methods of Vertex AI."""
        return [
            *self.jobs.routes(),
            *(route for service in self._services for route in service.routes()),
            *rpc.routes(SERVICES, self.bindings()),
            *rpc.unknown_methods(),
        ]

    def project_services(self, database: Database, clock: Clock, denials: Denials) -> ProjectServices:
        """Return the services about projects, which show the quotas of jobs, and decide who may run them."""
        services = ProjectServices(database, clock, denials, self.jobs.quotas)
        self.jobs.may_act_as = services.may_act_as
        return services

    def serve_at(self, url: str, token: str) -> None:
        """Take note of the emulator's own address, which jobs of Cloud Scheduler call with the token."""
        self._own_api.address, self._own_api.token = url, token

    def start(self) -> None:
        """Resume live resources after a restart."""
        self.jobs.start()
        for service in self._services:
            service.start()

    def run_after(self, ready: Callable[[], None]) -> None:
        """Start replicas only once `ready` has returned."""
        self.jobs.run_after(ready)

    def live_jobs(self) -> int:
        """Return the number of live resources."""
        return self.jobs.live_jobs() + sum(service.live() for service in self._services)

    def take_in_reports(self) -> None:
        """Apply what the supervisors of jobs have reported since the last call."""
        self.jobs.take_in_reports()

    def is_needed(self) -> bool:
        """Return whether the emulator has to keep running: for live resources, and for schedules."""
        return self.live_jobs() > 0 or self._schedules.enabled() > 0

    def all_jobs(self) -> AllJobs:
        """Return the interface for export, import and reset."""
        return self.jobs.all_jobs()

    def clock_changing(self, jump: int) -> AbstractContextManager[None]:
        """Return the context in which the clock is set."""
        return self.jobs.clock_changing(jump)

    def info(self) -> Mapping[str, Any]:
        """Return the part of GET /_local/info."""
        return self.jobs.info()

    def _log_sources(self, job_id: str | None) -> Iterator[LogSource]:
        yield from self.jobs.log_sources(job_id)
        if job_id is not None:
            yield from self.tuning.log_sources(job_id)

    def _remove_services(self) -> None:
        for service in reversed(self._services):
            service.remove_all()


def open_vertex(
    folder: DataFolder,
    database: Database,
    clock: Clock,
    scheduler: Scheduler,
    images: Images,
    object_store: ObjectStore,
    timeouts: DaemonTimeouts,
    **job_options: Any,
) -> VertexService:
    """Return Vertex AI of a data folder. `job_options` are `JobService`'s."""
    return VertexService(
        folder.root,
        folder.buckets,
        database=database,
        clock=clock,
        scheduler=scheduler,
        images=images,
        object_store=object_store,
        timeouts=timeouts,
        **job_options,
    )
