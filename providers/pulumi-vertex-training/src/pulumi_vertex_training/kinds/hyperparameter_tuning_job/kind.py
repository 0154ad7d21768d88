"""The tuning job as a job kind: reading, validation and the effects of its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import (
    HyperparameterTuningJobSpec,
    from_wire,
    normalise,
    to_wire,
)
from vertex_training.fields.decode import Decoded
from vertex_training.fields.effects import field_table
from vertex_training.fields.values import Unknown
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.job_kind import JobKind
from vertex_training.job.reading import decode_spec
from vertex_training.job.rules.envelope import display_name_problems, key_problems, labels_problems
from vertex_training.study.rules.tuning import tuning_problems
from vertex_training.study.search_space import study_names


def validate(
    spec: HyperparameterTuningJobSpec, *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> list[Problem]:
    """Return every finding about a spec, in the order of its fields.

    `has_output` means that the run gets an output directory although the spec declares none.
    """
    return [
        *display_name_problems(spec.display_name),
        *tuning_problems(spec, options=options, has_output=has_output),
        *key_problems(spec.encryption_spec, options),
        *labels_problems(spec.labels),
    ]


EFFECTS = field_table(HyperparameterTuningJobSpec, noun="a tuning job")


def read(
    value: object,
    *,
    options: CheckOptions = DEFAULT_OPTIONS,
    location: str | Unknown | None = None,
    check: Callable[[HyperparameterTuningJobSpec], Sequence[Problem]] | None = None,
) -> Decoded[HyperparameterTuningJobSpec]:
    """Decode, normalise and validate a tuning job, and report every problem with its path.

    `location` may be unknown; None stands for the location of `options`. `check` replaces `validate`.
    """
    return decode_spec(
        HyperparameterTuningJobSpec,
        value,
        normalise=normalise,
        check=check or (lambda spec: validate(spec, options=options)),
        location=options.location if location is None else location,
        at=("trial_job_spec",),
        framework=options.framework,
    )


KIND: JobKind[HyperparameterTuningJobSpec] = JobKind(
    noun="tuning job",
    it="the tuning job",
    spec=HyperparameterTuningJobSpec,
    effects=EFFECTS,
    normalise=normalise,
    validate=validate,
    to_wire=to_wire,
    from_wire=from_wire,
    at=("trial_job_spec",),
    names=study_names,
)
