"""TensorboardService: its resources, batches, and the points of time series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, Streaming, Unary, Violation, invalid_fields
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.service import Service
from vertex_emulator.services.tensorboards.job_uploads import JobUploads
from vertex_emulator.services.tensorboards.resources import Experiments, Runs, Tensorboards, TimeSeries
from vertex_emulator.services.tensorboards.store import TensorboardStore
from vertex_emulator.services.tensorboards.time_series import PointMethods

_READING = ("Get", "List", "Read", "BatchRead", "Export")
"""Prefixes of the methods that return what jobs have written."""

_MAX_BATCH = 1000


class TensorboardService(Service):
    """The tensorboards of one emulator."""

    def __init__(
        self,
        database: Database,
        operations: ResourceOperations,
        objects: BucketObjects,
        clock: Clock,
        scheduler: Scheduler,
        *,
        buckets_dir: Path,
        live_jobs: Callable[[], Iterable[Record]],
    ) -> None:
        self.store = TensorboardStore(database, clock)
        store, more = self.store, (operations, clock)
        self._tensorboards = Tensorboards(store, *more, objects)
        self._experiments = Experiments(store, store.experiments, *more, parents=store.tensorboards)
        self._runs = Runs(store, store.runs, *more, parents=store.experiments)
        self._series = TimeSeries(store, store.time_series, *more, parents=store.runs)
        self._points = PointMethods(store, objects, self._series.stamps)
        self.uploads = JobUploads(
            self.store,
            self._points,
            self._series.stamps,
            database,
            scheduler,
            buckets_dir=buckets_dir,
            live=live_jobs,
        )

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        service = descriptors.TENSORBOARD_SERVICE
        methods: dict[str, Unary] = {
            **self._tensorboards.methods(),
            **self._experiments.methods(),
            **self._runs.methods(),
            **self._series.methods(),
            f"{service}.BatchCreateTensorboardRuns": self.batch_create_runs,
            f"{service}.BatchCreateTensorboardTimeSeries": self.batch_create_series,
            f"{service}.ReadTensorboardSize": self.read_size,
            f"{service}.ReadTensorboardUsage": self.read_usage,
            **{f"{service}.{name}": method for name, method in self._points.bindings().items()},
        }
        return {
            name: self._fresh(method)
            if name.startswith(tuple(f"{service}.{verb}" for verb in _READING))
            else method
            for name, method in methods.items()
        }

    def streams(self) -> Mapping[str, Streaming]:
        """Return the methods that answer several times, which exist over gRPC."""
        name = f"{descriptors.TENSORBOARD_SERVICE}.ReadTensorboardBlobData"
        return {name: Streaming(self._points.read_blobs)}

    def remove_all(self) -> None:
        self.uploads.clear()
        self.store.clear()

    # Methods of the API

    def batch_create_runs(self, request: DynamicMessage) -> DynamicMessage:
        """Create several runs of an experiment, or none."""
        parent = self.store.experiments.lookup(request.parent)
        _check_batch(request.requests)
        answer = descriptors.message(f"{V1}.BatchCreateTensorboardRunsResponse")
        with self.store.runs.transaction():
            for number, each in enumerate(request.requests):
                if each.parent and self.store.experiments.lookup(each.parent).name != parent.name:
                    words = "It must match the parent of the batch."
                    raise invalid_fields([Violation(f"requests[{number}].parent", words)])
                answer.tensorboard_runs.append(self._runs.add(each, parent.place, parent).message)
        return answer

    def batch_create_series(self, request: DynamicMessage) -> DynamicMessage:
        """Create several time series of the runs of an experiment, or none."""
        experiment = self.store.experiments.lookup(request.parent)
        _check_batch(request.requests)
        answer = descriptors.message(f"{V1}.BatchCreateTensorboardTimeSeriesResponse")
        with self.store.time_series.transaction():
            for number, each in enumerate(request.requests):
                run = self.store.runs.lookup(each.parent)
                if not run.name.startswith(f"{experiment.name}/"):
                    words = f"The run must be in the experiment {experiment.name}."
                    raise invalid_fields([Violation(f"requests[{number}].parent", words)])
                answer.tensorboard_time_series.append(self._series.add(each, run.place, run).message)
        return answer

    def read_size(self, request: DynamicMessage) -> DynamicMessage:
        """Return the size of the points in bytes."""
        record = self.store.tensorboards.lookup(request.tensorboard)
        answer = descriptors.message(f"{V1}.ReadTensorboardSizeResponse")
        answer.storage_size_byte = self.store.points.size(self.store.series_below(record))
        return answer

    def read_usage(self, request: DynamicMessage) -> DynamicMessage:
        """Return no usage, because the emulator has no users."""
        self.store.tensorboards.lookup(request.tensorboard)
        return descriptors.message(f"{V1}.ReadTensorboardUsageResponse")

    def _fresh(self, method: Unary) -> Unary:
        """Return a method that answers with what live jobs have written up to now."""

        def answer(request: DynamicMessage) -> DynamicMessage:
            self.uploads.refresh()
            return method(request)

        return answer


def _check_batch(requests: Sequence[DynamicMessage]) -> None:
    if not 0 < len(requests) <= _MAX_BATCH:
        raise invalid_fields([Violation("requests", f"A batch has 1 to {_MAX_BATCH} requests.")])
