"""The rules of a tuning job: those of its trials, and those of what is around them."""

from __future__ import annotations

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.rules.envelope import display_name_problems, key_problems, labels_problems
from vertex_training.study.rules.tuning import tuning_problems


def validate(
    spec: HyperparameterTuningJobSpec,
    *,
    options: CheckOptions = check_options.DEFAULT,
    has_output: bool = False,
) -> list[Problem]:
    """Every finding about a spec, in the order of its fields.

    `has_output`: the run will get an output directory though the spec declares none.
    """
    return [
        *display_name_problems(spec.display_name),
        *tuning_problems(spec, options=options, has_output=has_output),
        *key_problems(spec.encryption_spec, options),
        *labels_problems(spec.labels),
    ]
