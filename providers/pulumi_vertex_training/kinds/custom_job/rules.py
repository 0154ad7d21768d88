"""The rules of a custom job: those of what runs, and those of what is around it."""

from __future__ import annotations

from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.rules.envelope import display_name_problems, key_problems, labels_problems
from vertex_training.job.rules.job_spec import job_spec_problems


def validate(
    spec: CustomJobSpec, *, options: CheckOptions = check_options.DEFAULT, has_output: bool = False
) -> list[Problem]:
    """Every finding about a spec, in the order of its fields.

    `has_output`: the run will get an output directory though the spec declares none.
    """
    return [
        *display_name_problems(spec.display_name),
        *job_spec_problems(spec, options=options, has_output=has_output),
        *key_problems(spec.encryption_spec, options),
        *labels_problems(spec.labels),
    ]
