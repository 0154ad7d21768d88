"""The spec of a training pipeline, its normal form and its JSON.

In the API, the inputs of a training task are a value of no fixed type (`training_task_inputs`). They are
still the fields of a message: those of `CustomJobSpec` for a custom task. A request has numbers as numbers,
and the names of enums, as in the documentation's examples. An answer may have either case of names, doubles
for all numbers, and numbers for enums and arguments, as Google's own library sends them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from vertex_training.catalog import api
from vertex_training.fields import wire
from vertex_training.fields.effects import CHANGES, WHOLE, next_run, replaces
from vertex_training.fields.schema import camel_case, snake_case
from vertex_training.job import input_data, job_spec
from vertex_training.job.input_data import InputDataConfig
from vertex_training.job.job_spec import EncryptionSpec, JobSpec
from vertex_training.study import tuning
from vertex_training.study.tuning import TuningSpec

DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
CUSTOM_TASK = f"{DEFINITIONS}custom_task_1.0.0.yaml"
TUNING_TASK = f"{DEFINITIONS}hyperparameter_tuning_task_1.0.0.yaml"

TASKS: Mapping[str, str] = MappingProxyType({"custom_task": CUSTOM_TASK, "tuning_task": TUNING_TASK})
"""The definition of each task by the name of its field."""

_MODEL = re.compile(r"projects/[^/]+/locations/[^/]+/models/([^/]+)")


_MODEL_EFFECT = {CHANGES: replaces("the model that {noun} uploads")}


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineSpec:
    """A pipeline that runs a task and uploads the resulting model.

    `custom_task` has the fields of the API's message CustomJobSpec, `tuning_task` a tuning job's. In
    the API they are `training_task_definition` and `training_task_inputs`. `model_id` is the id of a new
    model; `parent_model` is the model that gets a new version.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["TrainingPipeline"] | {
        "training_task_definition",
        "training_task_inputs",
    }

    display_name: str = field(metadata={CHANGES: next_run("the display name of {noun}")})
    """Name for people, up to 128 characters. Default: the resource's name. `{run}` in it becomes the
    number of the run. A change applies to the next run.
    """
    custom_task: JobSpec | None = None
    """Job to run: the fields of the API's CustomJobSpec, such as `worker_pool_specs`. `task_from_script`,
    `task_from_package` and `task_from_image` return one.
    """
    tuning_task: TuningSpec | None = None
    """Tuning to run: `study_spec`, `max_trial_count`, `parallel_trial_count`, `trial_job_spec`. Give exactly
    one of the two tasks.
    """
    input_data_config: InputDataConfig | None = field(
        default=None, metadata={"absent_if_empty": True, CHANGES: replaces("the data of {noun}")}
    )
    """Dataset, its split and its destination."""
    model_to_upload: ModelSpec | None = field(
        default=None, metadata={"absent_if_empty": True, WHOLE: True, **_MODEL_EFFECT}
    )
    """Model to upload when the task has succeeded, with its serving container."""
    model_id: str | None = field(default=None, metadata=_MODEL_EFFECT)
    """Id of the model. An existing model of this id gets a new version."""
    parent_model: str | None = field(default=None, metadata=_MODEL_EFFECT)
    """Model that gets a new version: a `Model`, or its id or full name."""
    encryption_spec: EncryptionSpec | None = field(
        default=None, metadata={"absent_if_empty": True, CHANGES: replaces("the key of {noun}")}
    )
    """Customer-managed key that encrypts the pipeline's resources."""
    labels: Mapping[str, str] = field(
        default_factory=dict, metadata={CHANGES: next_run("the labels of {noun}")}
    )
    """Labels of the pipeline. A change applies to the next run."""


Pipeline = TypeVar("Pipeline", bound=TrainingPipelineSpec)


def normalise(spec: Pipeline) -> Pipeline:
    """Return the normal form, which is equal for all spellings of the same pipeline. Never raises."""
    return replace(
        spec,
        custom_task=spec.custom_task and job_spec.normalise(spec.custom_task),
        tuning_task=spec.tuning_task and tuning.normalise(spec.tuning_task),
        input_data_config=spec.input_data_config and input_data.normalise(spec.input_data_config),
        model_to_upload=spec.model_to_upload and model.normalise(spec.model_to_upload),
        model_id=spec.model_id or None,
        parent_model=spec.parent_model or None,
    )


def to_wire(spec: TrainingPipelineSpec) -> dict[str, Any]:
    """Return the pipeline in the API's JSON, a `TrainingPipeline`.

    Data without a destination is written to the output directory (google-cloud-aiplatform,
    CustomTrainingJob.run).
    """
    job, data = job_of(spec), spec.input_data_config
    if data is not None:
        spec = replace(
            spec,
            input_data_config=input_data.with_destination(data, job.base_output_directory if job else None),
        )
    fields = wire.to_json(replace(spec, **dict.fromkeys(TASKS)))  # type: ignore[arg-type]
    for name, definition in TASKS.items():
        task = getattr(spec, name)
        if task is not None:
            fields |= {"trainingTaskDefinition": definition, "trainingTaskInputs": to_inputs(task)}
    return fields


def from_wire(pipeline: Mapping[str, Any]) -> TrainingPipelineSpec:
    """Return the spec of a `TrainingPipeline` in the API's JSON, without fields of the service.

    Raises ValueError if `pipeline` is not a pipeline, or has an unsupported task, such as one of AutoML.
    """
    if task_of(pipeline) is None:
        definition = str(pipeline.get("trainingTaskDefinition") or "").rpartition("/")[2]
        raise ValueError(
            f"the pipeline's task is {definition or 'missing'}; only custom and tuning tasks can be read"
        )
    return wire.from_json(TrainingPipelineSpec, flat(pipeline))


def flat(pipeline: Mapping[str, Any]) -> dict[str, Any]:
    """Move the task inputs of the API's form to `custom_task` or `tuning_task`.

    The inputs decide which task it is: the service answers with another definition than it was given.
    """
    name = task_of(pipeline)
    if name is None:
        return dict(pipeline)
    rest = {key: value for key, value in pipeline.items() if key not in (*_DEFINITION, *_INPUTS)}
    return {**rest, name: from_inputs(_first(pipeline, _INPUTS))}


def task_of(pipeline: Mapping[str, Any]) -> str | None:
    """Return the field of the task that the inputs of a pipeline in the API's JSON are for, or None."""
    inputs = _first(pipeline, _INPUTS)
    if not isinstance(inputs, Mapping):
        return None
    if "workerPoolSpecs" in inputs or "worker_pool_specs" in inputs:
        return "custom_task"
    if "studySpec" in inputs or "study_spec" in inputs:
        return "tuning_task"
    return None


_DEFINITION = ("trainingTaskDefinition", "training_task_definition")
_INPUTS = ("trainingTaskInputs", "training_task_inputs")


def _first(message: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((message[name] for name in names if message.get(name) is not None), None)


def job_of(spec: TrainingPipelineSpec) -> JobSpec | None:
    """Return the job of the custom task, or of each trial of the tuning task; None without a task."""
    return spec.tuning_task.trial_job_spec if spec.tuning_task else spec.custom_task


def uploaded_model(pipeline: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the full name and version of the model that a pipeline in the API's JSON has uploaded.

    The version is "" if the answer does not have it. Return None before the upload.
    """
    uploaded = pipeline.get("modelToUpload")
    name = str(uploaded.get("name") or "") if isinstance(uploaded, Mapping) else ""
    if not isinstance(uploaded, Mapping) or not _MODEL.fullmatch(name):
        return None
    bare, _, version = name.partition("@")
    return bare, str(uploaded.get("versionId") or "") or version


def backing_job(pipeline: Mapping[str, Any]) -> str | None:
    """Return the full name of the custom job or tuning job of a pipeline in the API's JSON.

    Return None before there is one.
    """
    metadata = pipeline.get("trainingTaskMetadata")
    if not isinstance(metadata, Mapping):
        return None
    names = (metadata.get(key) for key in ("backingCustomJob", "backingHyperparameterTuningJob"))
    return next((str(name) for name in names if name), None)


_TEXTS = frozenset({"args", "command", "value", "package_uris"})
"""Fields whose numbers become texts: arguments and variables of a task."""


def to_inputs(message: object) -> dict[str, Any]:
    """Encode a message as the inputs of a task."""
    plain: dict[str, Any] = _numbers(message, wire.to_json(message))
    return plain


def from_inputs(value: object) -> Any:
    """Convert whole doubles of inputs to integers, and numbers among arguments to texts."""
    return _typed(value, as_text=False)


def _numbers(message: object, plain: Any) -> Any:
    """Restore the 64-bit integers of a message in its JSON, which has them as strings."""
    if isinstance(message, Mapping):
        return {key: _numbers(item, plain[key]) for key, item in message.items()}
    if isinstance(message, tuple):
        return [_numbers(item, part) for item, part in zip(message, plain, strict=True)]
    if not dataclasses.is_dataclass(message) or not isinstance(plain, dict):
        return plain
    done = dict(plain)
    for item in dataclasses.fields(message):
        key, value = camel_case(item.name), getattr(message, item.name)
        if key not in plain or "message" in item.metadata:
            continue
        done[key] = (
            (list(value) if isinstance(value, tuple) else value)
            if item.metadata.get("int64")
            else _numbers(value, plain[key])
        )
    return done


def _typed(value: object, *, as_text: bool) -> object:
    if isinstance(value, Mapping):
        return {
            key: _typed(item, as_text=snake_case(str(key)) in _TEXTS and not isinstance(item, Mapping))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_typed(item, as_text=as_text) for item in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if as_text and isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value
