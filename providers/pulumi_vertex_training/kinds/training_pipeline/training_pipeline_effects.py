"""What a change of each field does to a training pipeline that exists: the field table of its kind.

A pipeline has no update method (Vertex AI API, `PipelineService`), so every field of its spec replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.effects import study_effects
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from vertex_training.fields.effects import FieldEffect, FieldTable, field_patterns
from vertex_training.job.effects import SERVICE, job_spec_effects, replaces
from vertex_training.job.input_data import InputDataConfig

_NOUN = "a pipeline"
_DATA = replaces("the data of a pipeline")
_MODEL = replaces("the model that a pipeline uploads")
_COUNTS = tuple(
    f"tuning_task.{name}" for name in ("max_trial_count", "parallel_trial_count", "max_failed_trial_count")
)


def _all_of(cls: type, prefix: str, effect: FieldEffect) -> Mapping[str, FieldEffect]:
    """One effect for every field of a message: a pipeline keeps it as a whole."""
    return dict.fromkeys(field_patterns(cls, prefix), effect)


EFFECTS: FieldTable = MappingProxyType(
    {
        "display_name": replaces(_NOUN),
        **job_spec_effects("custom_task.", noun=_NOUN),
        **study_effects("tuning_task.study_spec.", noun=_NOUN),
        **dict.fromkeys(_COUNTS, replaces(f"the number of trials of {_NOUN}")),
        **job_spec_effects("tuning_task.trial_job_spec.", noun=_NOUN),
        **_all_of(InputDataConfig, "input_data_config", _DATA),
        **_all_of(ModelSpec, "model_to_upload", _MODEL),
        "model_id": _MODEL,
        "parent_model": _MODEL,
        "encryption_spec.kms_key_name": replaces("the key of a pipeline"),
        "labels": replaces("the labels of a pipeline"),
        **dict.fromkeys(sorted(TrainingPipelineSpec.SERVER_OWNED), SERVICE),
        **dict.fromkeys((f"model_to_upload.{name}" for name in sorted(ModelSpec.SERVER_OWNED)), SERVICE),
    }
)
