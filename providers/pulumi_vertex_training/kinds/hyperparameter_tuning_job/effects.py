"""What a change of each field does to a tuning job that exists: the field table of its kind.

A tuning job has no update method (Vertex AI API, `JobService`), so every field of its spec replaces it.
"""

from __future__ import annotations

from types import MappingProxyType

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from vertex_training.fields.effects import FieldTable, field_patterns
from vertex_training.job.effects import SERVICE, job_spec_effects, replaces
from vertex_training.study.study import StudySpec

_NOUN = "a tuning job"


def study_effects(prefix: str = "study_spec.", *, noun: str = _NOUN) -> FieldTable:
    """The entries of a study that stands at `prefix`."""
    study = replaces("a study", f"once {noun} has it")
    return {f"{prefix}{pattern}": study for pattern in field_patterns(StudySpec)}


EFFECTS: FieldTable = MappingProxyType(
    {
        "display_name": replaces(_NOUN),
        **study_effects(),
        "max_trial_count": replaces(f"the number of trials of {_NOUN}"),
        "parallel_trial_count": replaces(f"the number of trials of {_NOUN}"),
        "max_failed_trial_count": replaces(f"the number of trials of {_NOUN}"),
        **job_spec_effects("trial_job_spec.", noun=_NOUN),
        "encryption_spec.kms_key_name": replaces(f"the key of {_NOUN}"),
        "labels": replaces(f"the labels of {_NOUN}"),
        **dict.fromkeys(sorted(HyperparameterTuningJobSpec.SERVER_OWNED), SERVICE),
    }
)
