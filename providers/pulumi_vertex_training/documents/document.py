"""What a document says, of whatever kind it is, and the pieces of reading that all kinds share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pulumi_vertex_training import registry
from pulumi_vertex_training.registry import Entry
from vertex_training.fields.origins import Origins
from vertex_training.fields.schema import snake_case
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.job_kind import JobKind
from vertex_training.topology.rules.reduction_servers import Sizing

Spec = TypeVar("Spec")

REGIONS = ("region", "location")
_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/[A-Za-z]+/[^/]+")


@dataclass(frozen=True, kw_only=True)
class Document(Generic[Spec]):
    """What a document says.

    `kind` is what it describes, `form` how it is written: a custom job has several forms. `spec` is in
    normal form and there beside errors too, with placeholders for what could not be read; None when there is
    nothing to read at all. Its display name is "" where the form has none. `problems` has every finding, with
    the paths of the document. `sizing` is the arithmetic behind reduction servers that were asked for as
    "auto". `location` is the region that was given, else that of the job.

    `damaged` holds the paths of `spec`, as the API has them, whose values are not what was meant: they could
    not be read, are not known, or were declared twice. "worker_pool_specs[1].replica_count", for example, or
    "worker_pool_specs[1]" for a whole pool, "" for the whole job. `origins` leads from such a path to the one
    in the document, where they differ.

    `unsaid` are the fields that the document leaves to whoever submits it, such as the trials that a flag of
    gcloud gives; they are placeholders in `spec`. `answered`: the service has written it.
    """

    form: str
    spec: Spec | None
    kind: JobKind[Any]
    problems: tuple[Problem, ...] = ()
    sizing: Sizing | None = None
    location: str | None = None
    damaged: frozenset[str] = frozenset()
    origins: Origins = field(default_factory=dict)
    unsaid: frozenset[str] = frozenset()
    answered: bool = False


def key_name(key: object) -> str:
    """The name of a field, in snake case; "" for a key that is no text."""
    return snake_case(key) if isinstance(key, str) else ""


def has(value: Mapping[Any, object], name: str) -> bool:
    """Whether a document gives a field, in either spelling."""
    return given(value, name) is not None


def given(value: Mapping[Any, object], name: str) -> object:
    """The value of a field, in either spelling; None where it is not given."""
    return next((item for key, item in value.items() if key_name(key) == name and item is not None), None)


def without_output(value: Mapping[Any, object], owned: Collection[str]) -> dict[Any, object]:
    """The fields without those that only the service sets."""
    names = {*owned, "etag"}
    return {key: item for key, item in value.items() if key_name(key) not in names}


def without_region(
    value: Mapping[Any, object], what: str = "a job"
) -> tuple[dict[Any, object], list[Problem]]:
    """The fields without a region among them, which no job has, and a finding where there is one."""
    problems = [
        Problem(
            path=key_name(key),
            message=f"is no field of {what}, which runs where it is submitted; use --location instead",
        )
        for key, item in value.items()
        if key_name(key) in REGIONS and item is not None
    ]
    return {key: item for key, item in value.items() if key_name(key) not in REGIONS}, problems


def location_in_name(value: Mapping[Any, object]) -> str | None:
    """The region in the name of a resource that the service answered."""
    name = given(value, "name")
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    return match.group(1) if match else None


def is_answer(value: Mapping[Any, object]) -> bool:
    """Whether the service has written it: it has a state, or a full name."""
    return has(value, "state") or location_in_name(value) is not None


@dataclass(frozen=True, kw_only=True)
class DocumentForm:
    """One way to write a document of a kind.

    `what` is the noun in messages; any of `keys` identifies a document as one. `read` never raises.
    """

    what: str
    keys: tuple[str, ...]
    read: Callable[[Mapping[Any, object], CheckOptions], Document[Any]]


@dataclass(frozen=True, kw_only=True)
class DocumentKind:
    """The forms of one kind. `printed` is the key under which `explain --json` prints one, "" for a custom
    job, which has several keys there; `example` is how to write one, as part of a sentence.
    """

    forms: tuple[DocumentForm, ...]
    example: str
    printed: str = ""


def document_kinds() -> tuple[DocumentKind, ...]:
    """Return the kinds whose documents are read, custom jobs first."""
    return tuple(entry.part("document", "DOCUMENT", DocumentKind) for entry in registry.RUNNABLE)


def entry_of(document: Document[Any]) -> Entry:
    """Return the registry's entry of the kind that a document describes."""
    return next(entry for entry in registry.RUNNABLE if entry.part("kind", "KIND", JobKind) is document.kind)
