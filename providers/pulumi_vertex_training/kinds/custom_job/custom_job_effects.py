"""What a change of each field does to a custom job that exists: the field table of its kind.

A job has no update method (Vertex AI API, `JobService`), so every field of its spec replaces it.
"""

from __future__ import annotations

from types import MappingProxyType

from vertex_training.fields.effects import FieldTable
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.effects import SERVICE, job_spec_effects, replaces

EFFECTS: FieldTable = MappingProxyType(
    {
        "display_name": replaces("a job"),
        **job_spec_effects(),
        "encryption_spec.kms_key_name": replaces("the key of a job"),
        "labels": replaces("the labels of a job"),
        **dict.fromkeys(sorted(CustomJobSpec.SERVER_OWNED), SERVICE),
    }
)
