"""Read the document of a job of any kind, and the custom job within it.

The keys of a document tell its kind and form. Custom jobs have several forms, other kinds one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Any

from pulumi_vertex_training.documents import hints as document_hints
from pulumi_vertex_training.documents.document import Document, DocumentForm, document_kinds
from pulumi_vertex_training.kinds.custom_job.document import LEGACY_FIELDS, unreadable
from pulumi_vertex_training.kinds.custom_job.forms.role_pools import misnamed
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from vertex_training.fields.schema import snake_case
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import is_within
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import JobSpec, parts

__all__ = ["ONE_FORM", "Document", "job_in", "read_document"]

POOLS_KEY = "worker_pool_specs"

ONE_FORM = Rule(
    name="document-form",
    says="a document describes one job in one form",
    source="ours: it is read as one job",
)

_KINDS = document_kinds()
_FORMS: Mapping[str, DocumentForm] = {form.what: form for kind in _KINDS for form in kind.forms}
_EXAMPLES = "; ".join(kind.example for kind in _KINDS)
_MOST_HINTS = 100
_LONGEST_KEY = 200
_MOST_KEYS = 5


def read_document(value: object, *, options: CheckOptions = DEFAULT_OPTIONS) -> Document[Any]:
    """Read and check the plain values of a document of any kind and form. Never raises.

    Fields that only the service sets are ignored, so that its responses can be read, and so are keys that
    begin with "x-", which hold YAML anchors. The JSON of `explain` is read as the document that it explains.
    """
    if not isinstance(value, Mapping):
        return _nothing(f"{document_hints.hint_about_scalar(value)}; {_EXAMPLES}")
    value = {key: item for key, item in value.items() if not (isinstance(key, str) and key.startswith("x-"))}
    printed = document_hints.explained(value, [kind.printed for kind in _KINDS if kind.printed])
    if printed is not None:
        value = printed
        if any(snake_case(str(key)) == POOLS_KEY for key in printed):
            options = replace(options, with_tasks=options.with_tasks and document_hints.has_task(printed))
    names = {snake_case(key): key for key in value if isinstance(key, str) and value[key] is not None}
    found = {what: _first(names, form.keys) for what, form in _FORMS.items()}
    given = {what: key for what, key in found.items() if key is not None}
    if len(given) > 1:
        keys = [f"{what} ({key})" for what, key in given.items()]
        remedy = document_hints.hint_about_nesting(names) or "keep one form"
        return _nothing(f"the document mixes {all_of(keys)}; {remedy}")
    if not given:
        about = (
            document_hints.hint_about(value, legacy=LEGACY_FIELDS)
            or _hint([str(key) for key in value]) + _EXAMPLES
        )
        return _nothing(f"this does not describe a job{_found(value)}; {about}")
    (what,) = given
    return _FORMS[what].read(value, options)


def _first(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """Return the first of the `wanted` keys that the document has, as it is written there, or None."""
    return next((names[name] for name in wanted if name in names), None)


def _found(value: Mapping[Any, object]) -> str:
    """Return words about the keys of a document."""
    keys = [str(key) for key in value]
    if not keys:
        return ": the document is empty"
    more = f" and {len(keys) - _MOST_KEYS} more keys" if len(keys) > _MOST_KEYS else ""
    shown = [key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}..." for key in keys[:_MOST_KEYS]]
    return f": the document has {', '.join(shown) if more else all_of(shown)}{more}"


def _hint(keys: Iterable[str]) -> str:
    words = [word for form in _FORMS.values() for word in form.keys]
    likely = islice((key for key in keys if len(key) <= _LONGEST_KEY), _MOST_HINTS)
    found = (misnamed(snake_case(key)) or nearest(snake_case(key), words, count=1) for key in likely)
    hint = next((hint for hint in found if hint), "")
    return f"{hint} " if hint else ""


def _nothing(message: str) -> Document[Any]:
    return unreadable("pools", (ONE_FORM.broken("", message),))


def job_in(document: Document[Any]) -> tuple[str, Document[CustomJobSpec]]:
    """Return the job within a document, as a document of a custom job, after its path there.

    The path is "" for a custom job and "trial_job_spec" for a tuning job. The job's spec is None if there is
    nothing to run. The paths in its `damaged` are relative to the job, those of its problems are not.
    """
    if document.kind is CUSTOM_JOB:
        return "", document
    path, part = next(parts(document.spec), ("", None))
    damaged = frozenset(
        gap[len(path) :].lstrip(".") if is_within(gap, path) else ""
        for gap in document.damaged
        if is_within(gap, path) or is_within(path, gap)
    )
    spec = None
    if part is not None:
        own = {each.name: getattr(part, each.name) for each in fields(JobSpec)}
        spec = CustomJobSpec(display_name="", **own)
    return path, Document(
        form="pools",
        kind=CUSTOM_JOB,
        spec=spec,
        problems=document.problems,
        sizing=document.sizing,
        location=document.location,
        damaged=damaged,
    )
