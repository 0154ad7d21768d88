"""The training pipeline as a job kind: reading, drift, adoption and the effects of its fields."""

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
from vertex_training.fields.labels import is_provider_label
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.job import job_kind
from vertex_training.job.job_kind import JobKind
from vertex_training.job.reading import decode_spec
from vertex_training.study.search_space import study_names
from vertex_training.topology.changes import FieldChange

EFFECTS = field_table(TrainingPipelineSpec, noun="a pipeline")

PARTS = ("custom_task", "tuning_task.trial_job_spec")
"""The paths of the job specs in a pipeline."""


def read(
    value: object, *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> Decoded[TrainingPipelineSpec]:
    """Decode, normalise and validate a pipeline, and report every problem with its path.

    The API's own form, with `trainingTaskInputs`, is accepted as well. `has_output` is as for `validate`.
    """
    return decode_spec(
        TrainingPipelineSpec,
        flat(value) if isinstance(value, Mapping) else value,
        normalise=normalise,
        check=lambda spec: validate(spec, options=options, has_output=has_output),
        location=options.location,
        at=PARTS,
        framework=options.framework,
    )


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineKind(JobKind[TrainingPipelineSpec]):
    """The pipeline kind, whose live spec has fields that the service fills in."""

    def as_live(self, declared: TrainingPipelineSpec, wire: Mapping[str, Any]) -> TrainingPipelineSpec:
        """Return the declaration with every difference of the live pipeline, or unchanged if none differs."""
        normal = normalise(declared)
        live = job_kind.as_live(normal, live_spec(normal, wire))
        return declared if live is normal else live

    def as_declared(self, declared: TrainingPipelineSpec, live: TrainingPipelineSpec) -> TrainingPipelineSpec:
        """Return the live spec without fields that the service fills in."""
        return _without_filled_in(declared, super().as_declared(declared, live))

    def drift(self, declared: TrainingPipelineSpec, wire: Mapping[str, Any]) -> tuple[FieldChange, ...]:
        """Return the changes between the declaration and the live pipeline."""
        normal = normalise(declared)
        return job_kind.drift(normal, live_spec(normal, wire))

    def difference_to_adopt(
        self, declared: TrainingPipelineSpec, wire: Mapping[str, Any], *, checkpoints: str | None = None
    ) -> tuple[FieldChange, ...]:
        """Return the differences that forbid adopting the live pipeline."""
        normal = normalise(declared)
        live = live_spec(normal, wire)
        # The destination of the data follows from the output directory, which may be undeclared.
        if self.output_directory(normal) is None:
            normal = self.with_output_directory(normal, self.output_directory(live))
        return super().difference_to_adopt(normal, training_pipeline.to_wire(live), checkpoints=checkpoints)


KIND = TrainingPipelineKind(
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


def live_spec(declared: TrainingPipelineSpec, pipeline: Mapping[str, Any]) -> TrainingPipelineSpec:
    """Return the normal spec of a live pipeline without undeclared fields that the service fills in.

    These are the destination of the data, and the directory, id and aliases that the model got when it was
    uploaded. If a model with the declared id existed, `parent_model` of the answer counts as `model_id`.
    """
    return _without_filled_in(declared, normalise(from_wire(pipeline)))


def _without_filled_in(declared: TrainingPipelineSpec, spec: TrainingPipelineSpec) -> TrainingPipelineSpec:
    data, declared_data = spec.input_data_config, declared.input_data_config
    if data and declared_data and not (declared_data.gcs_destination or declared_data.bigquery_destination):
        spec = replace(spec, input_data_config=replace(data, gcs_destination=None))
    live, wanted = spec.model_to_upload, declared.model_to_upload
    if live and wanted:
        labels = {
            key: value
            for key, value in live.labels.items()
            if key in wanted.labels or not is_provider_label(key)
        }
        spec = replace(
            spec,
            model_to_upload=replace(
                live,
                labels=labels,
                artifact_uri=live.artifact_uri if wanted.artifact_uri else None,
                version_aliases=live.version_aliases if wanted.version_aliases else (),
                # Input only (Vertex AI API, Model.container_spec): an answer may leave it out.
                container_spec=live.container_spec or wanted.container_spec,
            ),
        )
    if declared.model_id and (spec.parent_model or "").rpartition("/")[2] == declared.model_id:
        return replace(spec, model_id=declared.model_id, parent_model=None)
    return spec if declared.model_id else replace(spec, model_id=None)
