"""The custom job as a job kind: reading, validation and the effects of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vertex_training.fields.decode import Decoded
from vertex_training.fields.effects import field_table
from vertex_training.fields.values import Unknown
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.custom_job import CustomJobSpec, flat, from_wire, normalise, to_wire
from vertex_training.job.job_kind import JobKind
from vertex_training.job.reading import decode_spec
from vertex_training.job.rules.envelope import display_name_problems, key_problems, labels_problems
from vertex_training.job.rules.job_spec import job_spec_problems


def validate(
    spec: CustomJobSpec, *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> list[Problem]:
    """Return every finding about a spec, in the order of its fields.

    `has_output` means that the run gets an output directory although the spec declares none.
    """
    return [
        *display_name_problems(spec.display_name),
        *job_spec_problems(spec, options=options, has_output=has_output),
        *key_problems(spec.encryption_spec, options),
        *labels_problems(spec.labels),
    ]


EFFECTS = field_table(CustomJobSpec, noun="a job")


Job = TypeVar("Job", bound=CustomJobSpec)


def read(value: object, *, options: CheckOptions = DEFAULT_OPTIONS) -> Decoded[CustomJobSpec]:
    """Decode, normalise and validate a custom job, and report every problem with its path.

    The API's nesting is accepted as well: `{"displayName": ..., "jobSpec": {...}}`.
    """
    fields = flat(value) if isinstance(value, Mapping) else value
    return decode_job(CustomJobSpec, fields, options=options)


def decode_job(
    cls: type[Job],
    value: object,
    *,
    options: CheckOptions = DEFAULT_OPTIONS,
    location: str | Unknown | None = None,
    check: Callable[[Job], Sequence[Problem]] | None = None,
) -> Decoded[Job]:
    """Decode, normalise and validate a spec class that extends the custom job, with flat fields.

    `location` may be unknown; None stands for the location of `options`. `check` replaces `validate`.
    """
    return decode_spec(
        cls,
        value,
        normalise=normalise,
        check=check or (lambda spec: validate(spec, options=options)),
        location=options.location if location is None else location,
        framework=options.framework,
    )


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
