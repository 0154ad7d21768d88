"""The rules of a training pipeline: its task, its data and its model."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.kinds.model.rules import model_problems, registry_problems
from pulumi_vertex_training.kinds.training_pipeline.input_data_rules import input_data_problems
from pulumi_vertex_training.kinds.training_pipeline.spec import TASKS, TrainingPipelineSpec, job_of
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, one_of
from vertex_training.job.rules.envelope import display_name_problems, key_problems, labels_problems
from vertex_training.job.rules.job_spec import job_spec_problems
from vertex_training.study.rules.tuning import tuning_problems

_API = "Vertex AI API, TrainingPipeline"

PIPELINE_TASK = Rule(
    name="pipeline-task", says="a pipeline has one task", source=f"{_API}.training_task_definition"
)
PIPELINE_MODEL = Rule(
    name="pipeline-model",
    says="model_id and parent_model need a model to upload",
    source=f"{_API}.model_id and .parent_model",
)
PIPELINE_ARTIFACTS = Rule(
    name="pipeline-artifacts",
    says="a pipeline that uploads a model has an output directory, or the model an artifact_uri",
    source="google-cloud-aiplatform, CustomTrainingJob.run, which uploads what is below base_output_dir",
)


def validate(
    spec: TrainingPipelineSpec, *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> list[Problem]:
    """Return every finding about a spec, in the order of its fields.

    `has_output` means that the run gets an output directory although the spec declares none.
    """
    return list(_problems(spec, options, has_output))


def _problems(spec: TrainingPipelineSpec, options: CheckOptions, has_output: bool) -> Iterator[Problem]:
    yield from display_name_problems(spec.display_name)
    tasks = [name for name in TASKS if getattr(spec, name) is not None]
    if len(tasks) != 1:
        message = (
            f"{all_of(tasks)} are given; keep one" if tasks else f"is missing; give {one_of(list(TASKS))}"
        )
        yield PIPELINE_TASK.broken(tasks[-1] if tasks else "custom_task", message, rests_on=tuple(TASKS))
    if spec.custom_task is not None:
        yield from job_spec_problems(spec.custom_task, "custom_task", options=options, has_output=has_output)
    if spec.tuning_task is not None:
        yield from tuning_problems(spec.tuning_task, "tuning_task", options=options, has_output=has_output)
    job = job_of(spec)
    writes = has_output or bool(job and job.base_output_directory)
    if spec.input_data_config is not None:
        yield from input_data_problems(
            spec.input_data_config, path="input_data_config", options=options, has_output=writes
        )
    if spec.model_to_upload is not None:
        yield from model_problems(
            spec.model_to_upload, path="model_to_upload.", options=options, needs_container=True
        )
        if not writes and not spec.model_to_upload.artifact_uri:
            yield PIPELINE_ARTIFACTS.broken(
                "model_to_upload.artifact_uri",
                "is missing, and the pipeline has no output directory to read the model from; give "
                "staging_bucket, base_output_directory or artifact_uri",
                rests_on=("model_to_upload.artifact_uri", *(f"{name}.*" for name in TASKS)),
            )
    else:
        for name in ("model_id", "parent_model"):
            if getattr(spec, name):
                yield PIPELINE_MODEL.broken(
                    name,
                    "is given, but no model is uploaded; give model_to_upload, or leave it out",
                    rests_on=(name, "model_to_upload"),
                )
    yield from registry_problems(spec.model_id, spec.parent_model, options)
    yield from key_problems(spec.encryption_spec, options)
    yield from labels_problems(spec.labels)
