"""The effects of the fields of a `JobSpec`: part of the field table of each kind that runs one.

No kind that runs has a method that changes it (Vertex AI API, `JobService`, `PipelineService`), so every
field replaces the resource. Each field of `JobSpec` says so itself.
"""

from __future__ import annotations

from vertex_training.fields.effects import SERVICE, FieldTable, field_table, replaces
from vertex_training.job.job_spec import JobSpec

__all__ = ["SERVICE", "job_spec_effects", "replaces"]


def job_spec_effects(prefix: str = "", *, noun: str = "a job") -> FieldTable:
    """Return the entries of a `JobSpec` at `prefix` ("trial_job_spec." or "") of a resource called `noun`."""
    return field_table(JobSpec, prefix, noun=noun)
