"""Tuning jobs for tests, and hypothesis strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from support.ground import jobs
from support.ground.specs.tuning_specs import counts, studies, study, text, whole_studies, words
from vertex_training.job.job_spec import EncryptionSpec, JobSpec


def tuning_job(**other) -> HyperparameterTuningJobSpec:
    """Return a tuning job named "search" of 4 trials, 2 at a time; `trial` has fields of each trial's job."""
    trial = other.pop("trial", {})
    fields = {
        "display_name": "search",
        "study_spec": study(),
        "max_trial_count": 4,
        "parallel_trial_count": 2,
        "trial_job_spec": JobSpec(**{"worker_pool_specs": (jobs.pool(),), **trial}),
    }
    return HyperparameterTuningJobSpec(**{**fields, **other})


envelopes = {
    "display_name": words,
    "max_trial_count": counts,
    "parallel_trial_count": counts,
    "max_failed_trial_count": counts,
    "encryption_spec": st.none() | st.builds(EncryptionSpec, kms_key_name=words),
    "labels": st.dictionaries(words, text, max_size=2),
}


def job_spec_of(job) -> JobSpec:
    """Return the `JobSpec` of a custom job."""
    return JobSpec(**{name: getattr(job, name) for name in JobSpec.__dataclass_fields__})


tuning_jobs = st.builds(
    HyperparameterTuningJobSpec,
    study_spec=studies,
    trial_job_spec=jobs.jobs.map(job_spec_of),
    **envelopes,
)
"""Tuning jobs of any kind, valid and invalid."""

whole_tuning_jobs = st.builds(
    HyperparameterTuningJobSpec,
    study_spec=whole_studies,
    trial_job_spec=jobs.whole_jobs.map(job_spec_of),
    **envelopes,
)
"""Tuning jobs with all fields of the API, of the right types, though not always valid."""
