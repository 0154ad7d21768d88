"""Compare the answers of two endpoints, case by case and field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

Json = dict[str, Any]
Outcome = Literal["answered", "failed", "not run"]

MISSING = "(missing)"
"""Shown for a field that only the other side has."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A recorded answer, sanitised. `request` is the method, the path and the body that was sent."""

    step: str
    request: Json
    status: int
    body: Any

    def to_json(self) -> Json:
        return {"step": self.step, "request": self.request, "status": self.status, "body": self.body}


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """The answers of one endpoint in one case. `reason` says why the case failed or did not run."""

    case: str
    outcome: Outcome
    answers: tuple[Answer, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """A known difference. `step` and `path` are patterns of fnmatch; `reason` is printed in the report."""

    step: str
    path: str
    reason: str

    def matches(self, step: str, path: str) -> bool:
        return fnmatchcase(step, self.step) and fnmatchcase(path, self.path)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field that differs. `allowed` is the reason of a known difference, or None."""

    case: str
    step: str
    path: str
    google: Any
    emulator: Any
    allowed: str | None = None

    def to_json(self) -> Json:
        return {
            "step": self.step,
            "field": self.path,
            "google": self.google,
            "emulator": self.emulator,
            "allowed": self.allowed,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two results of one case. `unused` are the known differences that did not occur."""

    case: str
    google: CaseResult
    emulator: CaseResult
    differences: tuple[Difference, ...] = ()
    unused: tuple[Allowed, ...] = field(default=())

    @property
    def is_complete(self) -> bool:
        """Return whether both sides answered."""
        return self.google.outcome == self.emulator.outcome == "answered"

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """The differences that are not allowed."""
        return tuple(each for each in self.differences if each.allowed is None)


def compare(google: CaseResult, emulator: CaseResult, allowed: Sequence[Allowed] = ()) -> Comparison:
    """Compare two results of one case. Answers belong together by their steps.

    Of a case that one side did not bring to its end, the steps are compared that both have.
    """
    theirs, ours = _by_step(google), _by_step(emulator)
    if google.outcome != "answered" or emulator.outcome != "answered":
        both = theirs.keys() & ours.keys()
        theirs, ours = ({step: each[step] for step in each if step in both} for each in (theirs, ours))
    differences = [
        Difference(
            case=google.case,
            step=step,
            path=path,
            google=one,
            emulator=other,
            allowed=next((each.reason for each in allowed if each.matches(step, path)), None),
        )
        for step in [*theirs, *(each for each in ours if each not in theirs)]
        for path, one, other in _differences(theirs.get(step), ours.get(step))
    ]
    unused = tuple(
        each for each in allowed if not any(each.matches(one.step, one.path) for one in differences)
    )
    return Comparison(
        case=google.case, google=google, emulator=emulator, differences=tuple(differences), unused=unused
    )


def _by_step(result: CaseResult) -> dict[str, Answer]:
    return {answer.step: answer for answer in result.answers}


def _differences(one: Answer | None, other: Answer | None) -> Iterator[tuple[str, Any, Any]]:
    if one is None or other is None:
        yield "", one.status if one else MISSING, other.status if other else MISSING
        return
    if one.status != other.status:
        yield "(status)", one.status, other.status
    mine, theirs = dict(flattened(one.body)), dict(flattened(other.body))
    for path in [*mine, *(each for each in theirs if each not in mine)]:
        pair = mine.get(path, MISSING), theirs.get(path, MISSING)
        if pair[0] != pair[1] or type(pair[0]) is not type(pair[1]):
            yield path, *pair


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
