"""The training pipeline as Pulumi declares it."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from pulumi_vertex_training.kinds.training_pipeline import kind as training_pipeline_kind
from pulumi_vertex_training.kinds.training_pipeline import results as uploaded_models
from pulumi_vertex_training.kinds.training_pipeline import rivals as new_models
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from pulumi_vertex_training.plugin.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.runs import kinds


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineInputs(OnPersistentResource, JobInputs, TrainingPipelineSpec):
    """The inputs of a `TrainingPipeline`."""


DECLARED = JobResourceType(
    kind=kinds.TRAINING_PIPELINE,
    spec=training_pipeline_kind.KIND,
    inputs=TrainingPipelineInputs,
    outputs=uploaded_models.outputs,
    results=uploaded_models.results,
    no_results=uploaded_models.NO_MODEL,
    progress=uploaded_models.progress,
    log_of=uploaded_models.log_of,
    discard=uploaded_models.discard,
    rival=new_models.rival,
    checks=(fit_rules.problems,),
)
