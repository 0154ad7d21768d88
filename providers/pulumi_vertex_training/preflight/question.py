"""Lookups and their answers: a check names its questions, and reads the answers by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.preflight.finding import Finding

T = TypeVar("T")

Cause = Literal["missing", "denied", "unauthenticated", "late", "other"]

_CAUSES: tuple[tuple[type[errors.CloudError], Cause], ...] = (
    (errors.NotFound, "missing"),
    (errors.PermissionDenied, "denied"),
    (errors.Unauthenticated, "unauthenticated"),
)


@dataclass(frozen=True, kw_only=True)
class Question(Generic[T]):
    """A lookup. Two with one `key` are the same, and are asked once."""

    key: str
    look: Callable[[Endpoint], T] = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Why a question has no answer: the service's own words, or "" for none."""

    cause: Cause
    message: str = ""


LATE = Trouble(cause="late")


class Facts:
    """The answers of all questions."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self._answers = answers

    def of(self, question: Question[T]) -> T | Trouble:
        """Return the answer, or why it is missing."""
        return cast("T | Trouble", self._answers.get(question.key, LATE))


@dataclass(frozen=True, kw_only=True)
class Check:
    """The questions of a check, and the function that judges their answers."""

    questions: tuple[Question[Any], ...]
    judge: Callable[[Facts], Iterable[Finding]]


def answered(question: Question[T], endpoint: Endpoint) -> T | Trouble:
    """Ask a question. A failed call is an answer as well."""
    try:
        return question.look(endpoint)
    except errors.CloudError as error:
        cause: Cause = next((cause for kind, cause in _CAUSES if isinstance(error, kind)), "other")
        if isinstance(error, errors.DeadlineExceeded):
            cause = "late"
        return Trouble(cause=cause, message=_reason(str(error)))


def _reason(message: str) -> str:
    """Return the service's own words in the message of an error, without the client's advice."""
    own = message.partition("): ")[2] or message
    return own.partition(" Check that ")[0]
