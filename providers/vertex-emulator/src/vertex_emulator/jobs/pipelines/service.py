"""PipelineService: its methods for training pipelines."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vertex_emulator.job_folder.outcome import INTERNAL
from vertex_emulator.jobs.custom import all_jobs
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.pipelines import inputs, store
from vertex_emulator.jobs.pipelines.backing import Backing, CustomJobBacking
from vertex_emulator.jobs.pipelines.inputs import problems
from vertex_emulator.jobs.pipelines.runner import Runner
from vertex_emulator.jobs.pipelines.store import PIPELINES, PipelineStore, Work
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets.exporting import is_tabular
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.datasets.service import DatasetService
from vertex_emulator.services.models.service import ModelService
from vertex_emulator.services.models.store import MODELS
from vertex_emulator.services.models.uploading import check
from vertex_emulator.services.resource_engine import listing
from vertex_emulator.services.resource_engine.job_methods import JobMethods, stopping
from vertex_emulator.services.resource_engine.names import name_of, new_id, parse_parent
from vertex_emulator.services.resource_engine.operations import CANCELLED, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.server_owned import without_server_owned
from vertex_emulator.services.resource_engine.service import Service

_FIELD_OF_JOB = re.compile(
    r"(?<![\w.])(?:job_spec\.|(?=(?:trial_job_spec|study_spec|(?:max|parallel|max_failed)_trial_count)\b))"
)
_TASK = listing.Field(
    value=lambda record: record.message.training_task_definition, operators=("=", "!=", ":")
)


class PipelineService(Service):
    """The training pipelines of one emulator. Without `tuning`, tuning tasks are rejected."""

    def __init__(
        self,
        database: Database,
        operations: ResourceOperations,
        objects: BucketObjects,
        clock: Clock,
        scheduler: Scheduler,
        *,
        jobs: JobService,
        models: ModelService,
        datasets: DatasetService,
        tuning: Backing | None = None,
    ) -> None:
        self._clock = clock
        self._models = models
        self._datasets = datasets
        self._unknown_types = jobs.unknown_types
        self._backings: dict[str, Backing] = {inputs.CUSTOM.name: CustomJobBacking(jobs)}
        if tuning is not None:
            self._backings[inputs.TUNING.name] = tuning
        self.store = PipelineStore(database, clock)
        self._runner = Runner(
            self.store, clock, scheduler, objects, backings=self._backings, models=models, datasets=datasets
        )
        self._methods = JobMethods(
            descriptors.PIPELINE_SERVICE,
            self.store,
            operations,
            clock,
            states=store.names(),
            filters={"training_task_definition": _TASK},
            create=self.create,
            cancel=self._cancel,
            delete=self.store.remove,
            current=self._runner.update,
            refresh=lambda: [self._runner.update(record) for record in self.store.live()],
        )

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        return self._methods.bindings()

    def start(self) -> None:
        self._runner.start()

    def live(self) -> int:
        return len(self.store.live())

    def end_imported(self, at: str) -> int:
        """End the live pipelines of a snapshot."""

        def end(pipeline: DynamicMessage) -> None:
            state = store.state_of(pipeline)
            if state == store.CANCELLING:
                code, words = CANCELLED, store.CANCELLED_TEXT
                store.enter(pipeline, store.CANCELLED, at=at, code=code, message=words)
            else:
                words = all_jobs.interruption_message("pipeline", state)
                store.enter(pipeline, store.FAILED, at=at, code=INTERNAL, message=words)

        return self.store.end_all(end)

    def remove_all(self) -> None:
        self._runner.remove_all()

    def create(self, request: DynamicMessage, headers: Mapping[str, str]) -> DynamicMessage:
        """Create a pipeline."""
        place = parse_parent(request.parent)
        pipeline = without_server_owned(request.training_pipeline)
        self._check(place, pipeline, allow_unknown_types=self._unknown_types.are_allowed(headers))
        pipeline_id = new_id()
        pipeline.name = name_of(place, PIPELINES.id, pipeline_id)
        if pipeline.HasField("model_to_upload"):
            pipeline.model_to_upload.predict_schemata.SetInParent()
        store.begin(pipeline, at=now(self._clock))
        self._runner.expect(pipeline_id)
        with self.store.transaction():
            self.store.set_work(pipeline_id, Work(job=new_id()))
            self.store.insert(place, pipeline_id, pipeline)
        record = self.store.lookup(pipeline.name)
        try:
            self._runner.begin(record)
        except RpcError:
            self.store.remove(record)
            raise
        return pipeline

    def _cancel(self, record: Record) -> None:
        """Request cancellation. The pipeline is CANCELLED once its job is."""
        at = now(self._clock)
        changed = self.store.change(
            record.id, lambda pipeline: store.enter(pipeline, store.CANCELLING, at=at), place=record.place
        )
        self._runner.cancel(stopping(PIPELINES, record.name, changed))

    def _check(self, place: Place, pipeline: DynamicMessage, *, allow_unknown_types: bool) -> None:
        """Check that a pipeline can run. Raises `RpcError`."""
        if violations := list(problems(pipeline)):
            raise invalid_fields(violations)
        task = inputs.task_of(pipeline.training_task_definition)
        backing = self._backings.get(task.name)
        if backing is None:
            raise RpcError("UNIMPLEMENTED", f"The emulator does not implement the {task.name}.")
        spec = inputs.read(task, pipeline.training_task_inputs)
        try:
            backing.check(place, backing.job(pipeline, spec), allow_unknown_types=allow_unknown_types)
        except RpcError as error:
            path = "training_pipeline.training_task_inputs."
            raise error.renamed(lambda text: _FIELD_OF_JOB.sub(path, text)) from error
        if pipeline.HasField("input_data_config"):
            self._check_data(place, pipeline.input_data_config)
        if pipeline.HasField("model_to_upload"):
            self._check_model(place, pipeline, base=backing.model_base(spec))

    def _check_data(self, place: Place, config: DynamicMessage) -> None:
        path = "training_pipeline.input_data_config.dataset_id"
        if not config.dataset_id:
            raise invalid_fields([Violation(path, "Required field is not set.")])
        dataset = self._datasets.store.get(place, config.dataset_id)
        if dataset is None:
            raise RpcError("NOT_FOUND", f"The Dataset does not exist: {place}/datasets/{config.dataset_id}.")
        inputs.read_data_config(config, is_tabular=is_tabular(dataset.message))

    def _check_model(self, place: Place, pipeline: DynamicMessage, *, base: str) -> None:
        model = pipeline.model_to_upload
        check(
            model,
            path="training_pipeline.model_to_upload",
            parent_model=pipeline.parent_model,
            model_id=pipeline.model_id,
        )
        if not model.artifact_uri and not base:
            raise invalid_fields(
                [
                    Violation(
                        "training_pipeline.model_to_upload.artifact_uri",
                        "The folder of the model is unknown. Set this field, or base_output_directory in "
                        "training_task_inputs.",
                    )
                ]
            )
        models = self._models.store
        if pipeline.parent_model:
            models.parent(place, pipeline.parent_model)
        elif pipeline.model_id and models.get(place, pipeline.model_id) is not None:
            raise MODELS.exists(name_of(place, MODELS.id, pipeline.model_id))
