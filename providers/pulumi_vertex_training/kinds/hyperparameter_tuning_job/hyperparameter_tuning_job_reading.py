"""From what a program or a file says of a tuning job to its spec, with every finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.rules import validate
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec, normalise
from vertex_training.fields.decode import Decoded
from vertex_training.fields.values import Unknown
from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.reading import decode_spec


def read(
    value: object,
    *,
    options: CheckOptions = check_options.DEFAULT,
    location: str | Unknown | None = None,
    check: Callable[[HyperparameterTuningJobSpec], Sequence[Problem]] | None = None,
) -> Decoded[HyperparameterTuningJobSpec]:
    """Decode, normalise and check a tuning job; every problem at once, with its path.

    `location` (default: that of `options`) may not be known yet. `check` finds what is wrong, instead of
    `validate`.
    """
    return decode_spec(
        HyperparameterTuningJobSpec,
        value,
        normalise=normalise,
        check=check or (lambda spec: validate(spec, options=options)),
        location=options.location if location is None else location,
        at=("trial_job_spec",),
    )
