"""What the service has of a training pipeline, beside what was declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vertex_training.specs import job_echo
from vertex_training.specs.labels import is_own
from vertex_training.specs.training_pipeline import TrainingPipelineSpec, from_wire, normalise
from vertex_training.topology.changes import FieldChange


def difference_from_echo(
    declared: TrainingPipelineSpec, pipeline: Mapping[str, Any]
) -> tuple[FieldChange, ...]:
    """Where the pipeline that the service has is not what is declared; `pipeline` is the API's JSON.

    Raises ValueError for what is no pipeline of a known task.
    """
    normal = normalise(declared)
    return job_echo.difference_from_echo(normal, found(normal, pipeline))


def as_it_lives(declared: TrainingPipelineSpec, pipeline: Mapping[str, Any]) -> TrainingPipelineSpec:
    """The declaration with every field that differs replaced by what the service has, in normal form; the
    declaration itself where nothing differs.

    Raises ValueError for what is no pipeline of a known task.
    """
    normal = normalise(declared)
    lives = job_echo.as_it_lives(normal, found(normal, pipeline))
    return declared if lives is normal else lives


def found(declared: TrainingPipelineSpec, pipeline: Mapping[str, Any]) -> TrainingPipelineSpec:
    """The spec of the service's pipeline in normal form, without what nobody declares: the place that the run
    chose for its data, the directory, the id and the aliases that the model got when it was uploaded."""
    spec = normalise(from_wire(pipeline))
    data, ours = spec.input_data_config, declared.input_data_config
    if data and ours and not ours.gcs_destination and not ours.bigquery_destination:
        spec = replace(spec, input_data_config=replace(data, gcs_destination=None))
    theirs, wanted = spec.model_to_upload, declared.model_to_upload
    if theirs and wanted:
        labels = {
            key: value for key, value in theirs.labels.items() if key in wanted.labels or not is_own(key)
        }
        spec = replace(
            spec,
            model_to_upload=replace(
                theirs,
                labels=labels,
                artifact_uri=theirs.artifact_uri if wanted.artifact_uri else None,
                version_aliases=theirs.version_aliases if wanted.version_aliases else (),
                # Input only (Vertex AI API, Model.container_spec): an answer may leave it out.
                container_spec=theirs.container_spec or wanted.container_spec,
            ),
        )
    return spec if declared.model_id else replace(spec, model_id=None)
