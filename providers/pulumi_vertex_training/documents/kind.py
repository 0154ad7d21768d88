"""How documents of one kind are known, and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.registry import Entry
from vertex_training.findings.options import CheckOptions
from vertex_training.job.job_kind import JobKind


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
