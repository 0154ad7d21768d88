"""Compare the answers of two sides, step by step and field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

MISSING = "(missing)"
"""Shown for a step or a field that only the other side has."""


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """A known difference. `step` and `path` are patterns of fnmatch; `reason` is printed in the report."""

    step: str
    path: str
    reason: str


ALLOWED = (
    Allowed(step="*", path="error.message", reason="the emulator adds the last lines of the log"),
    Allowed(step="*", path="startTime", reason="a job that ends early may have no start"),
    Allowed(step="infra: outputs", path="metrics.*", reason="machines round differently"),
    Allowed(step="infra: StagedPackage *", path="*", reason="a wheel has the versions of its build tools"),
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field that differs. `allowed` is the reason of a known difference, or None."""

    step: str
    path: str
    google: Any
    emulator: Any
    allowed: str | None = None


def compare(
    google: Mapping[str, Any], emulator: Mapping[str, Any], allowed: Sequence[Allowed] = ALLOWED
) -> tuple[Difference, ...]:
    """Return the differences of the answers of both sides, which belong together by their steps."""
    return tuple(
        Difference(
            step=step,
            path=path,
            google=one,
            emulator=other,
            allowed=next(
                (
                    each.reason
                    for each in allowed
                    if fnmatchcase(step, each.step) and fnmatchcase(path, each.path)
                ),
                None,
            ),
        )
        for step in dict.fromkeys([*google, *emulator])
        for path, one, other in _differences(google.get(step, MISSING), emulator.get(step, MISSING))
    )


def _differences(google: Any, emulator: Any) -> Iterator[tuple[str, Any, Any]]:
    if MISSING in (google, emulator):
        one, other = ("(answered)" if each != MISSING else MISSING for each in (google, emulator))
        yield "", one, other
        return
    theirs, ours = dict(flattened(google)), dict(flattened(emulator))
    for path in dict.fromkeys([*theirs, *ours]):
        one, other = theirs.get(path, MISSING), ours.get(path, MISSING)
        if one != other or type(one) is not type(other):
            yield path, one, other


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all leaves of a JSON value with their paths, such as `jobSpec.workerPoolSpecs[0].replicaCount`.

    Empty objects and lists are leaves: services differ in whether they send them.
    """
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from flattened(each, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from flattened(each, f"{path}[{index}]")
    else:
        yield path, value
