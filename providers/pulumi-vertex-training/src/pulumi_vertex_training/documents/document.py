"""A document of any kind, how each kind is recognized, and the parts of reading that all kinds share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pulumi_vertex_training import registry
from pulumi_vertex_training.registry import Entry
from vertex_training.fields.schema import Origins, child, snake_case
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown
from vertex_training.job.framework_choices import Choice
from vertex_training.job.job_kind import JobKind
from vertex_training.topology.rules.reduction_servers import Sizing

Spec = TypeVar("Spec")

DIRECTORY = "base_output_directory"
"""The field of a job's output directory."""
REGIONS = ("region", "location")
"""The keys of a region, which a job's document must not have."""
_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/[A-Za-z]+/[^/]+")


@dataclass(frozen=True, kw_only=True)
class Document(Generic[Spec]):
    """The content of a document.

    `kind` is the kind of job that it describes, `form` how it is written: a custom job has several forms.
    `spec` is in normal form. It is also set despite errors, with placeholders for unreadable values; it is
    None only if nothing can be read. Its display name is "" if the form has none. `problems` has all
    findings, with the paths of the document. `sizing` is the calculation of reduction servers that are
    declared as "auto". `location` is the given region, else that of the job. `choices` are those of the named
    framework, with the API's paths, and `chosen` the same in words.

    `damaged` has the paths of `spec`, as the API has them, whose values are not the intended ones: they could
    not be read, are unknown, or were declared twice. Examples are "worker_pool_specs[1].replica_count",
    "worker_pool_specs[1]" for a whole pool, and "" for the whole job. `origins` maps such a path to the one
    in the document, if they differ.

    `unsaid` are the fields that the document leaves to the submission, such as the trials that a flag of
    gcloud sets; they are placeholders in `spec`. `answered` is true if the service has written the document.
    """

    form: str
    spec: Spec | None
    kind: JobKind[Any]
    problems: tuple[Problem, ...] = ()
    sizing: Sizing | None = None
    location: str | None = None
    damaged: frozenset[str] = frozenset()
    origins: Origins = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    chosen: tuple[str, ...] = ()
    unsaid: frozenset[str] = frozenset()
    answered: bool = False


def key_name(key: object) -> str:
    """Return the name of a field in snake case; "" for a key that is not text."""
    return snake_case(key) if isinstance(key, str) else ""


def has(value: Mapping[Any, object], name: str) -> bool:
    """Return whether a document has a field, in either spelling."""
    return given(value, name) is not None


def given(value: Mapping[Any, object], name: str) -> object:
    """Return the value of a field, in either spelling; None if it is not set."""
    return next((item for key, item in value.items() if key_name(key) == name and item is not None), None)


def without_output(value: Mapping[Any, object], owned: Collection[str]) -> dict[Any, object]:
    """Return the fields without those that only the service sets."""
    names = {*owned, "etag"}
    return {key: item for key, item in value.items() if key_name(key) not in names}


def without_region(
    value: Mapping[Any, object], what: str = "a job"
) -> tuple[dict[Any, object], list[Problem]]:
    """Return the fields without a region, which jobs do not have, and a finding if there was one."""
    problems = [
        Problem(
            path=key_name(key),
            message=f"is not a field of {what}, which runs where it is submitted; use --location instead",
        )
        for key, item in value.items()
        if key_name(key) in REGIONS and item is not None
    ]
    return {key: item for key, item in value.items() if key_name(key) not in REGIONS}, problems


def flat_directory(value: Mapping[Any, object], path: str = "", *, is_api: bool = False) -> Iterator[Problem]:
    """Yield a finding about an output directory that is a text, which is a message in the API.

    In snake case it may be that of a program, where it is a text, unless `is_api` says otherwise.
    """
    for key, item in value.items():
        if key_name(key) == DIRECTORY and isinstance(item, str) and (is_api or key != DIRECTORY):
            inner = "outputUriPrefix" if key != DIRECTORY else "output_uri_prefix"
            yield Problem(
                path=child(path, DIRECTORY),
                message=f"expected a mapping, got the text {shown(item)}; put it under {inner}: "
                f"{key}: {{{inner}: ...}}",
            )


def location_in_name(value: Mapping[Any, object]) -> str | None:
    """Return the region in the name of a resource that the service returned, or None."""
    name = given(value, "name")
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    return match.group(1) if match else None


def is_answer(value: Mapping[Any, object]) -> bool:
    """Return whether the service has written the document: it has a state, or a full name."""
    return has(value, "state") or location_in_name(value) is not None


@dataclass(frozen=True, kw_only=True)
class DocumentForm:
    """One way to write a document of a kind.

    `what` is the noun in messages; each of `keys` identifies a document of this form. `read` never raises.
    """

    what: str
    keys: tuple[str, ...]
    read: Callable[[Mapping[Any, object], CheckOptions], Document[Any]]


@dataclass(frozen=True, kw_only=True)
class DocumentKind:
    """The forms of one kind.

    `printed` is the key under which `explain --json` prints a job of this kind; "" for a custom job, which
    has several keys there. `example` shows how to write one, as part of a sentence. `hints` maps fields, in
    snake case, that belong to this kind but to none of its forms, to the remedy.
    """

    forms: tuple[DocumentForm, ...]
    example: str
    printed: str = ""
    hints: Mapping[str, str] = field(default_factory=dict)


def document_kinds() -> tuple[DocumentKind, ...]:
    """Return the kinds whose documents can be read, custom jobs first."""
    return tuple(entry.part("document", "DOCUMENT", DocumentKind) for entry in registry.RUNNABLE)


def entry_of(document: Document[Any]) -> Entry:
    """Return the registry's entry of the kind that a document describes."""
    return next(entry for entry in registry.RUNNABLE if entry.part("kind", "KIND", JobKind) is document.kind)
