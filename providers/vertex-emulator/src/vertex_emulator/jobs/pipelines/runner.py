"""The run of a pipeline: exports the data, runs a job, and uploads the model.

The job's ID is stored before the job is created, and the model is recorded in the same transaction as the
pipeline's success. After a kill at any moment, the next start continues without repeating a step.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import partial

from vertex_emulator.jobs.pipelines import inputs, store
from vertex_emulator.jobs.pipelines.backing import Backing, BackingJob
from vertex_emulator.jobs.pipelines.store import CANCELLED_TEXT, PipelineStore, Work
from vertex_emulator.kernel import background
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import DatabaseClosedError
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.exporting import Exported, is_tabular
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.datasets.service import DatasetService, fill_stats
from vertex_emulator.services.models.service import ModelService
from vertex_emulator.services.models.uploading import check_artifacts
from vertex_emulator.services.resource_engine.operations import CANCELLED, NUMBERS
from vertex_emulator.services.resource_engine.records import Record
from vertex_training.replica_environment import pipeline_data

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.05
_POLL_SECONDS_EACH = 0.005
"""Added for each live pipeline, because polling many of them takes time from training."""


class Runner:
    """Runs the pipelines of one emulator. `backings` are by name of the task."""

    def __init__(
        self,
        store: PipelineStore,
        clock: Clock,
        scheduler: Scheduler,
        objects: BucketObjects,
        *,
        backings: Mapping[str, Backing],
        models: ModelService,
        datasets: DatasetService,
    ) -> None:
        self._store = store
        self._clock = clock
        self._objects = objects
        self._backings = backings
        self._models = models
        self._datasets = datasets
        self._preparing: set[str] = set()
        self._updating: set[str] = set()
        self._lock = threading.RLock()
        self._task = scheduler.add("training pipelines", self._update_all)

    def start(self) -> None:
        """Resume pipelines after a restart."""
        for record in self._store.live():
            work, task = self._store.work(record.id), inputs.task_of(record.message.training_task_definition)
            backing = self._backings[task.name]
            if work is not None and backing.state(record.place, work.job) is None:
                if not record.message.HasField("training_task_metadata"):
                    self.prepare(record)
            elif work is not None and record.state == store.CANCELLING:
                backing.cancel(work.job)

    def remove_all(self) -> None:
        """Delete all pipelines. Pipelines that are being prepared then create no job."""
        with self._lock:
            self._store.clear()

    def expect(self, pipeline_id: str) -> None:
        """Announce a pipeline before it is recorded, so that its job is not looked up before `begin`."""
        with self._lock:
            self._preparing.add(pipeline_id)

    def begin(self, record: Record) -> None:
        """Start a recorded pipeline. Raises `RpcError` if its job cannot be started at once."""
        if record.message.HasField("input_data_config"):
            self.prepare(record)
        else:
            try:
                self._submit(record, {})
            finally:
                self._prepared(record.id)
        self._task.wake()

    def prepare(self, record: Record) -> None:
        """Export the data, if any, and create the job, in a thread."""
        self.expect(record.id)
        background.begin(record.name, partial(self._prepare, record))

    def cancel(self, record: Record) -> None:
        """Cancel the job of a pipeline in the state CANCELLING."""
        with self._lock:
            work = self._store.work(record.id)
            if work is not None and record.id not in self._preparing:
                self._backing(record).cancel(work.job)

    def update(self, record: Record) -> Record:
        """Update a pipeline from its job and return it; if another thread does so, return it as stored."""
        if not record.live:
            return record
        with self._lock:
            if record.id in self._preparing or record.id in self._updating:
                return self._store.get(record.place, record.id) or record
            self._updating.add(record.id)
        try:
            self._update(record)
        finally:
            with self._lock:
                self._updating.discard(record.id)
        return self._store.get(record.place, record.id) or record

    def _update_all(self) -> Next:
        live = self._store.live()
        for record in live:
            try:
                self.update(record)
            except Exception:  # the other pipelines must continue
                log.exception("%s: cannot be updated", record.name)
        return Next(seconds=_POLL_SECONDS + len(live) * _POLL_SECONDS_EACH if live else None)

    def _prepare(self, record: Record) -> None:
        try:
            self._submit(record, self._variables(record))
        except DatabaseClosedError:
            raise
        except (DataError, RpcError) as error:
            self._fail(record, NUMBERS[error.code], error.message)
        except Exception as error:
            log.exception("%s: cannot be prepared", record.name)
            self._fail(record, NUMBERS["INTERNAL"], f"The pipeline cannot be prepared: {error}.")
        finally:
            self._prepared(record.id)

    def _prepared(self, pipeline_id: str) -> None:
        with self._lock:
            self._preparing.discard(pipeline_id)

    def _variables(self, record: Record) -> Mapping[str, str]:
        """Export the data and return the environment variables of the replicas."""
        if not record.message.HasField("input_data_config"):
            return {}
        config = record.message.input_data_config
        dataset = self._datasets.store.get(record.place, config.dataset_id)
        if dataset is None:
            raise DataError(f"The Dataset {config.dataset_id} was deleted.", code="NOT_FOUND")
        wanted = inputs.read_data_config(config, is_tabular=is_tabular(dataset.message))
        folder = wanted.prefix + inputs.folder_name(
            config.dataset_id,
            annotation_type=inputs.annotation_type(wanted, dataset.message.metadata_schema_uri),
            at=datetime.fromtimestamp(record.created / 1e6, tz=timezone.utc),
        )
        exported = self._datasets.exporter.export(dataset, wanted.split, folder, persist=wanted.persist)
        work = self._store.work(record.id)
        if work is not None:
            self._store.set_work(record.id, Work(job=work.job, sizes=exported.sizes))
        return variables(exported)

    def _submit(self, record: Record, given: Mapping[str, str]) -> None:
        backing = self._backing(record)
        job = backing.job(record.message, _inputs(record))
        with self._lock:
            current, work = self._store.get(record.place, record.id), self._store.work(record.id)
            if current is None or work is None:
                return
            if current.state == store.CANCELLING:
                self._end(record, store.CANCELLED, code=CANCELLED, message=CANCELLED_TEXT)
                return
            backing.submit(record.place, job, work.job, given)
            self._record_job(record, backing.state(record.place, work.job))

    def _update(self, record: Record) -> None:
        work, backing = self._store.work(record.id), self._backing(record)
        if work is None:
            return
        backing_job = backing.state(record.place, work.job)
        if backing_job is None:
            self._fail(
                record,
                NUMBERS["FAILED_PRECONDITION"],
                "The job of the pipeline was deleted before the pipeline had recorded its end.",
            )
            return
        self._record_job(record, backing_job)
        if backing_job.has_started and record.state == store.PENDING:
            self._enter(record, store.RUNNING)
        if backing_job.succeeded:
            self._succeed(record, backing_job, work)
        elif backing_job.failed:
            self._end(record, store.FAILED, code=backing_job.error_code, message=backing_job.error_message)
        elif backing_job.cancelled:
            self._end(record, store.CANCELLED, code=backing_job.error_code, message=backing_job.error_message)

    def _record_job(self, record: Record, backing_job: BackingJob | None) -> None:
        """Store the job's name in the pipeline's metadata."""
        if backing_job is None:
            return

        def change(pipeline: DynamicMessage) -> bool:
            fields = pipeline.training_task_metadata.struct_value.fields
            if {key: each.string_value for key, each in fields.items()} == backing_job.metadata:
                return False
            for key, value in backing_job.metadata.items():
                fields[key].string_value = value
            return True

        self._store.change(record.id, change, place=record.place)

    def _succeed(self, record: Record, backing_job: BackingJob, work: Work) -> None:
        pipeline = record.message
        if not pipeline.HasField("model_to_upload"):
            self._end(record, store.SUCCEEDED)
            return
        model = descriptors.message("google.cloud.aiplatform.v1.Model")
        model.CopyFrom(pipeline.model_to_upload)
        model.artifact_uri = model.artifact_uri or backing_job.model
        if pipeline.HasField("encryption_spec") and not model.HasField("encryption_spec"):
            model.encryption_spec.CopyFrom(pipeline.encryption_spec)
        if work.sizes:
            fill_stats(model.data_stats, work.sizes)
        try:
            check_artifacts(self._objects, model.artifact_uri)
            self._upload(record, model)
        except RpcError as error:
            self._fail(record, NUMBERS[error.code], error.message)

    def _upload(self, record: Record, model: DynamicMessage) -> None:
        """Record the model and the pipeline's success in one transaction."""
        pipeline = record.message
        with self._store.transaction():
            current = self._store.change(record.id, lambda _: False, place=record.place)
            if current is None or not current.live:
                return
            name, version = self._models.add(
                record.place,
                model,
                parent_model=pipeline.parent_model,
                model_id="" if pipeline.parent_model else pipeline.model_id,
                pipeline=record.name,
            )

            def succeed(message: DynamicMessage) -> bool:
                message.model_to_upload.name = name
                message.model_to_upload.version_id = version
                return store.enter(message, store.SUCCEEDED, at=now(self._clock))

            self._store.change(record.id, succeed, place=record.place)

    def _fail(self, record: Record, code: int, message: str) -> None:
        self._end(record, store.FAILED, code=code, message=message)

    def _end(self, record: Record, state: str, *, code: int = 0, message: str = "") -> None:
        self._enter(record, state, code=code, message=message)

    def _enter(self, record: Record, state: str, *, code: int = 0, message: str = "") -> None:
        at = now(self._clock)
        self._store.change(
            record.id,
            lambda pipeline: store.enter(pipeline, state, at=at, code=code, message=message),
            place=record.place,
        )

    def _backing(self, record: Record) -> Backing:
        return self._backings[inputs.task_of(record.message.training_task_definition).name]


def variables(exported: Exported) -> dict[str, str]:
    """Return the environment variables with the data for every replica."""
    return pipeline_data.variables(
        exported.extension, {name: exported.pattern(name) for name in pipeline_data.SETS}
    )


def _inputs(record: Record) -> DynamicMessage:
    task = inputs.task_of(record.message.training_task_definition)
    return inputs.read(task, record.message.training_task_inputs)
