"""Arguments of a `HyperparameterTuningJob` from a training input of legacy AI Platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.kinds.custom_job import parameters
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.tuning import (
    PATH,
    Tuning,
    convert_hyperparameters,
)
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from vertex_training.fields.decode import encode
from vertex_training.fields.schema import as_written
from vertex_training.findings.problems import Problem, errors, is_within
from vertex_training.study.rules.study import study_problems

_NAME = "tuning_from_training_input"
_SWITCHES = ("allow_unknown_types", "allow_legacy_types")
_OF_JOB = ("display_name", "labels", "location", "encryption_spec", *_SWITCHES)
"""Arguments of a job that are the tuning job's own, not its trials'."""


@checked_call
def tuning_from_training_input(
    document: Mapping[str, Any] | str,
    *,
    legacy_environment: bool = False,
    location: str | None = None,
    allow_unknown_types: bool = False,
    allow_legacy_types: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a `HyperparameterTuningJob` that runs a tuning job of legacy AI Platform.

        vt.HyperparameterTuningJob("tune", **vt.tuning_from_training_input(yaml.safe_load(open("job.yaml"))))

    docs/coming-from/ai-platform.md has the table of all fields. A field that is left out or means something
    else on
    Vertex AI is a warning.

    Raises `pulumi.RunError` with every error of the document, also if it has no hyperparameters.

    :param document: `{"trainingInput": {"hyperparameters": {...}, ...}}` with `jobId` and `labels` beside it,
        or a training input alone.
    :param legacy_environment: Give the replicas CLUSTER_SPEC and TF_CONFIG as AI Platform did
        (`from_training_input`).
    :param location: Region, for the prebuilt images. Default: that of the document, else the stack's.
    :param allow_unknown_types: Report unknown machine and accelerator types as a warning. Passed on.
    :param allow_legacy_types: Accept types that Google has retired. Passed on.
    """
    tuning = Tuning(study=None)

    def convert(hyperparameters: Mapping[str, Any] | None) -> tuple[Problem, ...]:
        nonlocal tuning
        tuning = convert_hyperparameters(hyperparameters)
        return (*tuning.problems, *_study_problems(tuning))

    job = parameters.converted(
        _NAME,
        document,
        legacy_environment=legacy_environment,
        location=location,
        allow_unknown_types=allow_unknown_types,
        allow_legacy_types=allow_legacy_types,
        hyperparameters=convert,
    )
    own = {name: job.pop(name) for name in _OF_JOB if name in job}
    failed = tuning.max_failed_trial_count
    return {
        **own,
        "study_spec": encode(tuning.study),
        "max_trial_count": tuning.max_trial_count,
        "parallel_trial_count": tuning.parallel_trial_count,
        **({"max_failed_trial_count": failed} if failed else {}),
        "trial_job_spec": job,
    }


def _study_problems(tuning: Tuning) -> tuple[Problem, ...]:
    """Return the errors of a study in the words of the document, without those that follow from others."""
    if tuning.study is None:
        return ()
    wrong = {problem.path.rpartition(".")[0] for problem in errors(tuning.problems)} - {PATH}
    found = as_written(errors(study_problems(tuning.study)), tuning.origins)
    return tuple(problem for problem in found if not any(is_within(problem.path, each) for each in wrong))
