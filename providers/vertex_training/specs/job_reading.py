"""From what a program says of a resource that runs something to its spec, with every finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.hints import camel_case
from vertex_training.specs.job_spec_rules import below
from vertex_training.specs.reduction import fill_in
from vertex_training.specs.values import Unknown
from vertex_training.topology.problems import Problem, known

Spec = TypeVar("Spec")

_COUNT = ".replica_count"


def decode_spec(
    cls: type[Spec],
    value: object,
    *,
    normalise: Callable[[Spec], Spec],
    check: Callable[[Spec], Sequence[Problem]],
    location: str | Unknown | None = None,
    at: Sequence[str] = ("",),
) -> Decoded[Spec]:
    """Decode, normalise and check a spec of any kind; every problem at once, with its path.

    Reduction servers that are asked for as "auto" are filled in first, for `location`, which may not be known
    yet; `at` has the paths where a `JobSpec` may stand, "trial_job_spec" or "". `check` finds what is wrong.
    """
    problems: list[Problem] = []
    for path in at:
        value, found = _filled(value, path.split(".") if path else [], location)
        problems += below(found, path)
    decoded = decode(cls, value)
    if problems:
        decoded = dataclasses.replace(decoded, spec=None, problems=(*problems, *decoded.problems))
    # A pool whose number of replicas is not known yet may turn out to be empty, and then no rule is for it.
    uncertain = {path.removesuffix(_COUNT) for path in decoded.unknown if path.endswith(_COUNT)}
    return decoded.then(normalise, lambda spec: known(check(spec), uncertain))


def _filled(
    value: Any, path: Sequence[str], location: str | Unknown | None
) -> tuple[Any, tuple[Problem, ...]]:
    if not isinstance(value, Mapping):
        return value, ()
    if not path:
        filled = fill_in(value, location=location)
        return filled.value, filled.problems
    key = next((key for key in (path[0], camel_case(path[0])) if key in value), None)
    if key is None:
        return value, ()
    inner, problems = _filled(value[key], path[1:], location)
    return {**value, key: inner}, problems
