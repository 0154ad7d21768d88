"""The training pipeline as a kind that runs: how one is read, what a change does to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.kinds.training_pipeline import spec as training_pipeline
from pulumi_vertex_training.kinds.training_pipeline.rules import validate
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    TrainingPipelineSpec,
    flat,
    from_wire,
    normalise,
)
from vertex_training.fields.decode import Decoded
from vertex_training.fields.effects import field_table
from vertex_training.fields.labels import is_own
from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.job import job_kind
from vertex_training.job.job_kind import JobKind
from vertex_training.job.reading import decode_spec
from vertex_training.study.names import study_names
from vertex_training.topology.changes import FieldChange

EFFECTS = field_table(TrainingPipelineSpec, noun="a pipeline")

PARTS = ("custom_task", "tuning_task.trial_job_spec")
"""Where what runs stands in a pipeline."""


def read(
    value: object, *, options: CheckOptions = check_options.DEFAULT, has_output: bool = False
) -> Decoded[TrainingPipelineSpec]:
    """Decode, normalise and check a pipeline; every problem at once, with its path.

    The API's own form, with `trainingTaskInputs`, is read as well.
    """
    return decode_spec(
        TrainingPipelineSpec,
        flat(value) if isinstance(value, Mapping) else value,
        normalise=normalise,
        check=lambda spec: validate(spec, options=options, has_output=has_output),
        location=options.location,
        at=PARTS,
    )


@dataclass(frozen=True, kw_only=True)
class PipelineKind(JobKind[TrainingPipelineSpec]):
    """A pipeline, of which the service knows more than was declared."""

    def as_live(self, declared: TrainingPipelineSpec, wire: Mapping[str, Any]) -> TrainingPipelineSpec:
        normal = normalise(declared)
        lives = job_kind.as_live(normal, found(normal, wire))
        return declared if lives is normal else lives

    def as_declared(
        self, declared: TrainingPipelineSpec, lives: TrainingPipelineSpec
    ) -> TrainingPipelineSpec:
        return _as_declared(declared, super().as_declared(declared, lives))

    def drift(self, declared: TrainingPipelineSpec, wire: Mapping[str, Any]) -> tuple[FieldChange, ...]:
        normal = normalise(declared)
        return job_kind.drift(normal, found(normal, wire))

    def difference_to_adopt(
        self, declared: TrainingPipelineSpec, wire: Mapping[str, Any]
    ) -> tuple[FieldChange, ...]:
        normal = normalise(declared)
        lives = found(normal, wire)
        # Both sides write their data to one place, which a directory that is not declared decides.
        if self.output_directory(normal) is None:
            normal = self.with_output_directory(normal, self.output_directory(lives))
        return super().difference_to_adopt(normal, training_pipeline.to_wire(lives))


KIND = PipelineKind(
    noun="training pipeline",
    it="the pipeline",
    spec=TrainingPipelineSpec,
    effects=EFFECTS,
    normalise=normalise,
    validate=validate,
    to_wire=training_pipeline.to_wire,
    from_wire=from_wire,
    at=PARTS,
    names=study_names,
)


def found(declared: TrainingPipelineSpec, pipeline: Mapping[str, Any]) -> TrainingPipelineSpec:
    """The spec of the service's pipeline in normal form, without what nobody declares: the place of its data,
    the directory, the id and the aliases that the model got when it was uploaded. A model of a declared id
    that was there before has got a new version.
    """
    return _as_declared(declared, normalise(from_wire(pipeline)))


def _as_declared(declared: TrainingPipelineSpec, spec: TrainingPipelineSpec) -> TrainingPipelineSpec:
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
    if declared.model_id and (spec.parent_model or "").rpartition("/")[2] == declared.model_id:
        return replace(spec, model_id=declared.model_id, parent_model=None)
    return spec if declared.model_id else replace(spec, model_id=None)
