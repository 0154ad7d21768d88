"""Documents of training pipelines: the API's own, and those with `custom_task` or `tuning_task`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pulumi_vertex_training.documents.document import (
    Document,
    DocumentForm,
    DocumentKind,
    flat_directory,
    given,
    has,
    is_answer,
    key_name,
    location_in_name,
    without_output,
    without_region,
)
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from pulumi_vertex_training.kinds.training_pipeline.kind import KIND, PARTS
from pulumi_vertex_training.kinds.training_pipeline.rules import PIPELINE_TASK, validate
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    DEFINITIONS,
    TASKS,
    TrainingPipelineSpec,
    from_inputs,
    normalise,
    task_of,
)
from vertex_training.fields.schema import Origins, child, field_types, written_path
from vertex_training.fields.values import describe, kind
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import close, shown
from vertex_training.job.reading import decode_spec, fill_parts
from vertex_training.study.tuning import TuningSpec

INPUTS, DEFINITION, _MODEL = "training_task_inputs", "training_task_definition", "model_to_upload"
_API = (INPUTS, DEFINITION)
_KINDS_OF_TASK = "custom_task_1.0.0.yaml or hyperparameter_tuning_task_1.0.0.yaml"
_IN_WORDS = re.compile(r"\b(?:custom_task|tuning_task)\b(?=[.\[])")


def read_training_pipeline(
    value: Mapping[Any, object], options: CheckOptions
) -> Document[TrainingPipelineSpec]:
    """Read and check a training pipeline. Never raises.

    Findings about the task have the paths of the document: in the API's form, those of
    `training_task_inputs`.
    """
    location = options.location or location_in_name(value)
    checks = replace(options, location=location)
    owned = TrainingPipelineSpec.SERVER_OWNED - set(_API)
    fields, problems = without_region(without_output(value, owned), "a training pipeline")
    origins: Origins = {}
    unreadable = False
    if any(has(value, name) for name in _API):
        task, wrong = _task(value)
        problems += wrong
        unreadable = task is None
        inputs = given(value, INPUTS)
        fields = {key: item for key, item in fields.items() if key_name(key) not in (*_API, *TASKS)}
        if task is not None:
            fields[task] = from_inputs(inputs)
            problems += _flat_directories(inputs)
            origins = dict.fromkeys(TASKS, INPUTS)
    fields = {
        key: _without_service_fields(item) if key_name(key) == _MODEL else item
        for key, item in fields.items()
    }
    filled = fill_parts(fields, at=PARTS, location=location, framework=options.framework)

    def check(spec: TrainingPipelineSpec) -> list[Problem]:
        found = validate(spec, options=checks)
        return [problem for problem in found if not (unreadable and problem.rule == PIPELINE_TASK.name)]

    decoded = decode_spec(
        TrainingPipelineSpec, filled.value, normalise=normalise, check=check, location=location, at=PARTS
    )
    broken = frozenset(name for name in TASKS if unreadable)
    return Document(
        form="training_pipeline",
        kind=KIND,
        spec=decoded.draft,
        problems=(*problems, *_as_written((*filled.problems, *decoded.problems), origins)),
        sizing=filled.sizing,
        choices=filled.choices,
        chosen=filled.sentences,
        location=location,
        damaged=decoded.unknown | decoded.damaged | broken,
        origins=origins,
        answered=is_answer(value),
    )


def _flat_directories(inputs: object) -> Iterator[Problem]:
    """Yield the findings about output directories of a task in the API's form."""
    if isinstance(inputs, Mapping):
        yield from flat_directory(inputs, INPUTS, is_api=True)
        trial = given(inputs, "trial_job_spec")
        if isinstance(trial, Mapping):
            yield from flat_directory(trial, child(INPUTS, "trial_job_spec"), is_api=True)


def _task(value: Mapping[Any, object]) -> tuple[str | None, list[Problem]]:
    """Find the task of a pipeline in the API's form. Return its field, or None, and the problems with it."""
    problems = []
    inputs, definition = given(value, INPUTS), given(value, DEFINITION)
    tasks = [name for name in TASKS if has(value, name)]
    if tasks:
        problems.append(
            PIPELINE_TASK.broken(
                tasks[0], f"is given together with {INPUTS}, which also has the task; keep one of them"
            )
        )
    named = _task_of_definition(definition)
    if definition is None:
        wanted = TASKS[_closest_task(inputs) if isinstance(inputs, Mapping) else "custom_task"]
        problems.append(Problem(path=DEFINITION, message=f"is missing; it is required: write {wanted}"))
    elif named is None:
        text = shown(definition.removeprefix(DEFINITIONS)) if isinstance(definition, str) else ""
        what = f"{text or describe(definition)} is not a supported task"
        problems.append(PIPELINE_TASK.broken(DEFINITION, f"{what}; write {_KINDS_OF_TASK}, in {DEFINITIONS}"))
        return None, problems
    if not isinstance(inputs, Mapping):
        found = "is missing; it is required" if inputs is None else f"expected a mapping, got {kind(inputs)}"
        problems.append(
            Problem(
                path=INPUTS,
                message=f"{found}: workerPoolSpecs of a custom task, or studySpec, trialJobSpec and the "
                "numbers of trials of a tuning task",
            )
        )
        return None, problems
    task = task_of({INPUTS: inputs}) or named or _closest_task(inputs)
    if named is not None and named != task:
        problems.append(
            PIPELINE_TASK.broken(
                DEFINITION,
                f"is for a {named.replace('_', ' ')}, but {INPUTS} are for a {task.replace('_', ' ')}; "
                f"write {TASKS[task]}, or the inputs of a {named.replace('_', ' ')}",
            )
        )
    return task, problems


def _task_of_definition(definition: object) -> str | None:
    """Return the task that a definition names, or None; the service's answers have other names."""
    if not isinstance(definition, str):
        return None
    last = definition.rpartition("/")[2]
    if "hyperparameter_tuning" in last:
        return "tuning_task"
    return "custom_task" if last.startswith("custom") else None


def _closest_task(inputs: Mapping[Any, object]) -> str:
    """Return the task whose fields the inputs have, or nearly have."""
    names = [key_name(key) for key in inputs]
    tuning = [name for name in names if close(name, field_types(TuningSpec), count=1)]
    return "tuning_task" if tuning else "custom_task"


def _without_service_fields(model: object) -> object:
    """Remove the fields that the service sets from a model."""
    return without_output(model, ModelSpec.SERVER_OWNED) if isinstance(model, Mapping) else model


def _as_written(problems: tuple[Problem, ...], origins: Origins) -> tuple[Problem, ...]:
    """Return the findings with the paths of the document, in their messages as well."""
    if not origins:
        return problems
    return tuple(
        replace(
            problem,
            path=written_path(problem.path, origins),
            message=_IN_WORDS.sub(INPUTS, problem.message),
            rests_on=tuple(written_path(path, origins) for path in problem.rests_on),
        )
        for problem in problems
    )


DOCUMENT = DocumentKind(
    forms=(
        DocumentForm(
            what="a training pipeline",
            keys=(INPUTS, DEFINITION, *TASKS, "input_data_config", _MODEL),
            read=read_training_pipeline,
        ),
    ),
    example='a training pipeline as {"displayName": ..., "trainingTaskDefinition": ..., '
    '"trainingTaskInputs": {...}}',
    printed="training_pipeline",
    hints={"training_pipeline": "pass the value of trainingPipeline"},
)
