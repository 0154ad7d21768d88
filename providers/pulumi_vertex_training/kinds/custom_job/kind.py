"""The custom job as a kind that runs: how one is read, what a change does to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vertex_training.fields.decode import Decoded
from vertex_training.fields.effects import field_table
from vertex_training.fields.values import Unknown
from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.custom_job import CustomJobSpec, flat, from_wire, normalise, to_wire
from vertex_training.job.job_kind import JobKind
from vertex_training.job.reading import decode_spec
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


EFFECTS = field_table(CustomJobSpec, noun="a job")


Job = TypeVar("Job", bound=CustomJobSpec)


def read(value: object, *, options: CheckOptions = check_options.DEFAULT) -> Decoded[CustomJobSpec]:
    """Decode, normalise and check a custom job; every problem at once, with its path.

    The API's nesting, `{"displayName": ..., "jobSpec": {...}}`, is read as well.
    """
    fields = flat(value) if isinstance(value, Mapping) else value
    return decode_job(CustomJobSpec, fields, options=options)


def decode_job(
    cls: type[Job],
    value: object,
    *,
    options: CheckOptions = check_options.DEFAULT,
    location: str | Unknown | None = None,
    check: Callable[[Job], Sequence[Problem]] | None = None,
) -> Decoded[Job]:
    """As `read` for a spec of any class, with fields side by side; `location` (default: that of `options`)
    may not be known yet. `check` finds what is wrong, instead of `validate`.
    """
    place = options.location if location is None else location
    found = check or (lambda spec: validate(spec, options=options))
    return decode_spec(cls, value, normalise=normalise, check=found, location=place)


KIND: JobKind[CustomJobSpec] = JobKind(
    noun="custom job",
    it="the job",
    spec=CustomJobSpec,
    effects=EFFECTS,
    normalise=normalise,
    validate=validate,
    to_wire=to_wire,
    from_wire=from_wire,
)
