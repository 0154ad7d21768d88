"""TensorboardService: tensorboards, experiments and runs, and their checks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.datasets.objects import BucketObjects
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError, Streaming, Violation, invalid_fields
from vertex_emulator.tensorboards import archived, blobs, checks, listings
from vertex_emulator.tensorboards.job_uploads import JobUploads
from vertex_emulator.tensorboards.store import EXPERIMENT, RUN, TENSORBOARD, TensorboardStore
from vertex_emulator.tensorboards.time_series import TimeSeriesMethods
from vertex_emulator.vertex import listing, nested
from vertex_emulator.vertex.names import name_of, new_id, parse_parent
from vertex_emulator.vertex.nested import NestedRecords
from vertex_emulator.vertex.operations import V1, ResourceOperations, already_exists
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived, Service
from vertex_emulator.vertex.versions import Stamps

_READING = ("Get", "List", "Read", "BatchRead", "Export")
"""Prefixes of the methods that return what jobs have written."""

_TENSORBOARD_FIELDS = ("display_name", "description", "labels", "is_default")
_EXPERIMENT_FIELDS = ("display_name", "description", "labels")
_RUN_FIELDS = ("display_name", "description", "labels")


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
        self._operations = operations
        self._objects = objects
        self._stamps = Stamps(clock)
        self.store = TensorboardStore(database, clock)
        self._time_series = TimeSeriesMethods(self.store, objects, self._stamps)
        self.uploads = JobUploads(
            self.store,
            self._time_series,
            self._stamps,
            database,
            scheduler,
            buckets_dir=buckets_dir,
            live=live_jobs,
        )

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Callable[[Any], Message]] = {
            "CreateTensorboard": self.create,
            "GetTensorboard": self.get,
            "ListTensorboards": self.list_tensorboards,
            "UpdateTensorboard": self.update,
            "DeleteTensorboard": self._delete(self.store.tensorboards),
            "ReadTensorboardSize": self.read_size,
            "ReadTensorboardUsage": self.read_usage,
            "CreateTensorboardExperiment": self.create_experiment,
            "GetTensorboardExperiment": self._get(self.store.experiments),
            "ListTensorboardExperiments": self.list_experiments,
            "UpdateTensorboardExperiment": self.update_experiment,
            "DeleteTensorboardExperiment": self._delete(self.store.experiments),
            "CreateTensorboardRun": self.create_run,
            "BatchCreateTensorboardRuns": self.batch_create_runs,
            "GetTensorboardRun": self._get(self.store.runs),
            "ListTensorboardRuns": self.list_runs,
            "UpdateTensorboardRun": self.update_run,
            "DeleteTensorboardRun": self._delete(self.store.runs),
            "GetTensorboardTimeSeries": self._get(self.store.time_series),
            "DeleteTensorboardTimeSeries": self._delete(self.store.time_series),
            **self._time_series.bindings(),
        }
        return {
            f"{descriptors.TENSORBOARD_SERVICE}.{name}": self._fresh(method)
            if name.startswith(_READING)
            else method
            for name, method in methods.items()
        }

    def streams(self) -> Mapping[str, Streaming]:
        """Return the methods that answer several times, which exist over gRPC."""
        name = f"{descriptors.TENSORBOARD_SERVICE}.ReadTensorboardBlobData"
        return {name: Streaming(self._time_series.read_blobs)}

    def archived(self) -> Sequence[Archived]:
        """Return the resources of all levels, from the top."""
        return archived.kinds(self.store)

    def remove_all(self) -> None:
        self.uploads.clear()
        self.store.clear()

    # Tensorboards

    def create(self, request: Any) -> Message:
        """Create a tensorboard. It exists when the method returns."""
        place = parse_parent(request.parent)
        made = _new(TENSORBOARD, request.tensorboard, checks.TENSORBOARD_OUTPUT)
        checks.check_tensorboard(made)
        tensorboard_id = new_id()
        made.name = name_of(place, "tensorboards", tensorboard_id)
        made.blob_storage_path_prefix = blobs.ensure_bucket(self._objects.object_store, place)
        self._stamps.begin(made)
        with self.store.tensorboards.transaction():
            self.store.tensorboards.insert(place, tensorboard_id, made)
            if made.is_default:
                self._only_default(place, tensorboard_id)
        metadata = descriptors.message(f"{V1}.CreateTensorboardOperationMetadata")
        return self._operations.done(made.name, made, metadata)

    def get(self, request: Any) -> Message:
        """Return a tensorboard with the number of its runs."""
        return self._counted(self.store.tensorboards.lookup(request.name))

    def list_tensorboards(self, request: Any) -> Message:
        """List the tensorboards of a location."""
        return listing.list_records(
            self.store.tensorboards, request, listings.tensorboards(shown=self._counted)
        )

    def update(self, request: Any) -> Message:
        """Update the names, the labels, and which tensorboard is the default one."""
        record = self.store.tensorboards.lookup(request.tensorboard.name)
        with self.store.tensorboards.transaction():
            self._change(self.store.tensorboards, record, request.tensorboard, request, _TENSORBOARD_FIELDS)
            found = self.store.tensorboards.lookup(request.tensorboard.name)
            checks.check_tensorboard(found.message)
            if found.message.is_default:
                self._only_default(found.place, found.id)
        metadata = descriptors.message(f"{V1}.UpdateTensorboardOperationMetadata")
        return self._operations.done(found.name, self._counted(found), metadata)

    def read_size(self, request: Any) -> Message:
        """Return the size of the points in bytes."""
        record = self.store.tensorboards.lookup(request.tensorboard)
        answer = descriptors.message(f"{V1}.ReadTensorboardSizeResponse")
        answer.storage_size_byte = self.store.points.size(self.store.series_below(record))
        found: Message = answer
        return found

    def read_usage(self, request: Any) -> Message:
        """Return no usage, because the emulator has no users."""
        self.store.tensorboards.lookup(request.tensorboard)
        found: Message = descriptors.message(f"{V1}.ReadTensorboardUsageResponse")
        return found

    def _counted(self, record: Record) -> Message:
        record.message.run_count = self.store.runs.count_below(record)
        found: Message = record.message
        return found

    def _only_default(self, place: Place, tensorboard_id: str) -> None:
        """Mark the other tensorboards of a location as not the default one."""

        def unset(message: Any) -> bool:
            changed: bool = message.is_default
            message.is_default = False
            return changed

        for each in list(self.store.tensorboards.newest_first(place)):
            if each.id != tensorboard_id:
                self.store.tensorboards.change(each.id, unset, place=each.place)

    # Experiments

    def create_experiment(self, request: Any) -> Message:
        """Create an experiment of a tensorboard."""
        parent = self.store.tensorboards.lookup(request.parent)
        nested.check_id(request.tensorboard_experiment_id, "tensorboard_experiment_id")
        made = _new(EXPERIMENT, request.tensorboard_experiment, checks.OUTPUT)
        checks.check_experiment(made)
        return self._insert(self.store.experiments, parent, request.tensorboard_experiment_id, made)

    def list_experiments(self, request: Any) -> Message:
        """List the experiments of a tensorboard."""
        parent = self.store.tensorboards.lookup(request.parent)
        return listing.list_records(
            self.store.experiments.below(parent), request, listings.EXPERIMENTS, place=parent.place
        )

    def update_experiment(self, request: Any) -> Message:
        """Update the names and labels of an experiment."""
        given = request.tensorboard_experiment
        record = self.store.experiments.lookup(given.name)
        with self.store.experiments.transaction():
            changed = self._change(self.store.experiments, record, given, request, _EXPERIMENT_FIELDS)
            checks.check_experiment(changed)
        found: Message = changed
        return found

    # Runs

    def create_run(self, request: Any) -> Message:
        """Create a run of an experiment."""
        parent = self.store.experiments.lookup(request.parent)
        with self.store.runs.transaction():
            return self._create_run(parent, request)

    def batch_create_runs(self, request: Any) -> Message:
        """Create several runs of an experiment, or none."""
        parent = self.store.experiments.lookup(request.parent)
        checks.check_batch(request.requests)
        answer = descriptors.message(f"{V1}.BatchCreateTensorboardRunsResponse")
        with self.store.runs.transaction():
            for number, each in enumerate(request.requests):
                if each.parent and self.store.experiments.lookup(each.parent).name != parent.name:
                    words = "It must match the parent of the batch."
                    raise invalid_fields([Violation(f"requests[{number}].parent", words)])
                answer.tensorboard_runs.append(self._create_run(parent, each))
        found: Message = answer
        return found

    def list_runs(self, request: Any) -> Message:
        """List the runs of an experiment."""
        parent = self.store.experiments.lookup(request.parent)
        return listing.list_records(self.store.runs.below(parent), request, listings.RUNS, place=parent.place)

    def update_run(self, request: Any) -> Message:
        """Update the names and labels of a run."""
        given = request.tensorboard_run
        record = self.store.runs.lookup(given.name)
        with self.store.runs.transaction():
            changed = self._change(self.store.runs, record, given, request, _RUN_FIELDS)
            checks.check_run(changed)
            experiment = self.store.experiments.lookup(record.name.rpartition("/runs/")[0])
            self._check_name(experiment, changed, but=record.id)
        found: Message = changed
        return found

    def _create_run(self, parent: Record, request: Any) -> Message:
        nested.check_id(request.tensorboard_run_id, "tensorboard_run_id")
        made = _new(RUN, request.tensorboard_run, checks.OUTPUT)
        checks.check_run(made)
        path = self.store.runs.child(parent, request.tensorboard_run_id)
        if self.store.runs.get(parent.place, path) is None:
            self._check_name(parent, made)
        return self._insert(self.store.runs, parent, request.tensorboard_run_id, made)

    def _check_name(self, experiment: Record, run: Any, *, but: str = "") -> None:
        for each in self.store.runs.below(experiment).newest_first(experiment.place):
            if each.message.display_name == run.display_name and each.id != but:
                raise RpcError(
                    "INVALID_ARGUMENT",
                    f"A TensorboardRun with the display name {run.display_name!r} already exists in "
                    f"{experiment.name}: {each.name}.",
                )

    # All levels

    def _fresh(self, method: Callable[[Any], Message]) -> Callable[[Any], Message]:
        """Return a method that answers with what live jobs have written up to now."""

        def answer(request: Any) -> Message:
            self.uploads.refresh()
            return method(request)

        return answer

    def _insert(self, records: NestedRecords, parent: Record, resource_id: str, made: Any) -> Message:
        path = records.child(parent, resource_id)
        made.name = name_of(parent.place, records.collection.id, path)
        self._stamps.begin(made)
        try:
            records.insert(parent.place, path, made)
        except sqlite3.IntegrityError:
            raise already_exists(records.collection, made.name) from None
        found: Message = made
        return found

    def _change(
        self, records: NestedRecords, record: Record, given: Any, request: Any, updatable: Sequence[str]
    ) -> Any:
        def change(message: Any) -> bool:
            self._stamps.check(message, given.etag, records.collection.noun)
            nested.overwrite(message, given, request.update_mask.paths, updatable)
            self._stamps.touch(message)
            return True

        changed = records.change(record.id, change, place=record.place)
        return (changed or record).message

    def _get(self, records: NestedRecords) -> Callable[[Any], Message]:
        def get(request: Any) -> Message:
            found: Message = records.lookup(request.name).message
            return found

        return get

    def _delete(self, records: NestedRecords) -> Callable[[Any], Message]:
        def delete(request: Any) -> Message:
            record = records.lookup(request.name)
            self.store.remove(records, record)
            return self._operations.deleted(record.place)

        return delete


def _new(kind: str, given: Any, output_only: Sequence[str]) -> Any:
    """Return a message of a new resource without the fields that belong to the service."""
    made = descriptors.message(kind)
    made.CopyFrom(given)
    for field in output_only:
        made.ClearField(field)
    return made
