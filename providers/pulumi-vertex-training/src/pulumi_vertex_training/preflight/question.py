"""Lookups and their answers: a check names its questions, and reads the answers by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.preflight.finding import Finding
from pulumi_vertex_training.preflight.remedies import AGAIN, enable, set_quota_project

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Cause = Literal["missing", "denied", "disabled", "unauthenticated", "unreachable", "other"]

_CAUSES: tuple[tuple[type[errors.CloudError], Cause], ...] = (
    (errors.NotFound, "missing"),
    (errors.PermissionDenied, "denied"),
    (errors.Unauthenticated, "unauthenticated"),
    (errors.Unavailable, "unreachable"),
)
_DISABLED = re.compile(
    r"/apis/api/(?P<service>[a-z]+\.googleapis\.com)/overview(?:\?project=(?P<project>[a-z0-9-]+))?"
)
"""The page that Google's error names if a service is not enabled."""
_NO_QUOTA_PROJECT = re.compile(r"requires a quota project|\bproject (?:764086051850|32555940559) before\b")
"""Google's words to a person whose credentials name no quota project. The numbers are gcloud's projects."""


@dataclass(frozen=True, kw_only=True)
class Question(Generic[T_co]):
    """A lookup. Two with one `key` are the same, and are asked once."""

    key: str
    look: Callable[[Endpoint], T_co] = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Why a question has no answer: the service's own words, without a full stop.

    `remedy` is what to do, as far as it does not depend on the question, "" for nothing.
    """

    cause: Cause
    message: str
    remedy: str = ""


LATE = Trouble(cause="unreachable", message="no answer in time", remedy=AGAIN)


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
    except errors.DeadlineExceeded:
        return LATE
    except errors.CloudError as error:
        return _trouble(error, endpoint.project)


def _trouble(error: errors.CloudError, project: str) -> Trouble:
    words = error.own_words.rstrip(".")
    cause: Cause = next((cause for kind, cause in _CAUSES if isinstance(error, kind)), "other")
    if cause == "denied" and _NO_QUOTA_PROJECT.search(words):
        message = "the credentials name no quota project, which this service asks for"
        return Trouble(cause="other", message=message, remedy=set_quota_project(project))
    page = _DISABLED.search(words) if cause == "denied" else None
    if page is not None:
        remedy = enable(page["service"], page["project"] or project)
        return Trouble(cause="disabled", message=f"{page['service']} is not enabled", remedy=remedy)
    return Trouble(cause=cause, message=words, remedy=AGAIN if cause == "unreachable" else "")
