"""From what a program or a file says of a custom job to its spec, with every finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vertex_training.specs.custom_job import CustomJobSpec, flat, normalise
from vertex_training.specs.custom_job_rules import validate
from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.reduction import fill_in
from vertex_training.specs.values import Unknown
from vertex_training.topology import options as check_options
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem, known

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
    """As `read` for a spec of any class, with fields side by side; reduction servers that are asked for as
    "auto" are filled in first, for `location`, which may not be known yet (default: that of `options`). "
    "`check`
    finds what is wrong, instead of `validate`."""
    place = options.location if location is None else location
    filled = fill_in(value, location=place) if isinstance(value, Mapping) else None
    decoded = decode(cls, filled.value if filled else value)
    if filled and filled.problems:
        decoded = dataclasses.replace(decoded, spec=None, problems=(*filled.problems, *decoded.problems))
    found = check or (lambda spec: validate(spec, options=options))
    # A pool whose number of replicas is not known yet may turn out to be empty, and then no rule is for it.
    uncertain = {path.removesuffix(_COUNT) for path in decoded.unknown if path.endswith(_COUNT)}
    return decoded.then(normalise, lambda spec: known(found(spec), uncertain))


_COUNT = ".replica_count"
