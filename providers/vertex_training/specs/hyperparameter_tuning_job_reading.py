"""From what a program or a file says of a tuning job to its spec, with every finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vertex_training.specs.decode import Decoded
from vertex_training.specs.hyperparameter_tuning_job import HyperparameterTuningJobSpec, normalise
from vertex_training.specs.hyperparameter_tuning_job_rules import validate
from vertex_training.specs.job_reading import decode_spec
from vertex_training.specs.values import Unknown
from vertex_training.topology import options as check_options
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem


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
