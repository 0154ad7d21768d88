"""Documents of tuning jobs: the API's own, and the configuration of `gcloud ai hp-tuning-jobs create`.

A configuration leaves out the name and the numbers of trials, which gcloud takes as flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulumi_vertex_training.documents.document import (
    Document,
    DocumentForm,
    DocumentKind,
    flat_directory,
    given,
    has,
    is_answer,
    location_in_name,
    without_output,
    without_region,
)
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import KIND as TUNING_JOB
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import read, validate
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from vertex_training.fields.lists import with_lists
from vertex_training.fields.values import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.reading import fill_parts

_NAME = "display_name"
_COUNTS = ("max_trial_count", "parallel_trial_count")


def read_tuning_job(
    value: Mapping[Any, object], options: CheckOptions
) -> Document[HyperparameterTuningJobSpec]:
    """Read and check a tuning job. Never raises.

    Without a display name it is a configuration: its name is not checked, and neither are the numbers of
    trials that it leaves out.
    """
    location = options.location or location_in_name(value)
    checks = replace(options, location=location)
    fields, wrong = without_region(
        without_output(value, HyperparameterTuningJobSpec.SERVER_OWNED), TUNING_JOB.it.replace("the", "a", 1)
    )
    unsaid: frozenset[str] = frozenset()
    if not has(value, _NAME):
        unsaid = frozenset({_NAME, *(name for name in _COUNTS if not has(value, name))})
        fields = {**fields, _NAME: "", **dict.fromkeys(unsaid - {_NAME}, UNKNOWN)}
    fields = with_lists(HyperparameterTuningJobSpec, fields)
    trial = given(fields, "trial_job_spec")
    wrong += flat_directory(trial, "trial_job_spec") if isinstance(trial, Mapping) else ()
    filled = fill_parts(fields, at=TUNING_JOB.at, location=location, framework=options.framework)

    def check(spec: HyperparameterTuningJobSpec) -> list[Problem]:
        found = validate(spec, options=checks)
        return [problem for problem in found if not (problem.path == _NAME and _NAME in unsaid)]

    decoded = read(filled.value, options=checks, check=check)
    return Document(
        form="tuning_job",
        kind=TUNING_JOB,
        spec=decoded.draft,
        problems=(*wrong, *filled.problems, *decoded.problems),
        sizing=filled.sizing,
        choices=filled.choices,
        chosen=filled.sentences,
        location=location,
        damaged=(decoded.unknown | decoded.damaged) - unsaid,
        unsaid=unsaid,
        answered=is_answer(value),
    )


DOCUMENT = DocumentKind(
    forms=(DocumentForm(what="a tuning job", keys=("study_spec", "trial_job_spec"), read=read_tuning_job),),
    example='a tuning job as {"displayName": ..., "studySpec": {...}, "trialJobSpec": {...}}',
    printed="tuning_job",
    hints={
        "hyperparameter_tuning_job": "pass the value of hyperparameterTuningJob",
        "max_trial_count": "this may be a tuning job; it needs studySpec and trialJobSpec",
    },
)
