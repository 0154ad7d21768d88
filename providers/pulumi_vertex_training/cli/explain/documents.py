"""Documents of everything that runs: which kind and form one has, and what it says.

A document is known by its keys. Custom jobs have several forms, the other kinds one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pulumi_vertex_training.documents import hints as document_hints
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.documents.kind import DocumentForm, document_kinds
from pulumi_vertex_training.kinds.custom_job.document import LEGACY_FIELDS, unreadable
from pulumi_vertex_training.kinds.custom_job.forms.role_pools import misnamed
from vertex_training.fields.schema import snake_case
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest

__all__ = ["ONE_FORM", "Document", "read_document"]

POOLS_KEY = "worker_pool_specs"

ONE_FORM = Rule(
    name="document-form",
    says="a document describes one job in one form",
    source="ours: it is read as one job",
)

_KINDS = document_kinds()
_FORMS: Mapping[str, DocumentForm] = {form.what: form for kind in _KINDS for form in kind.forms}
_EXAMPLES = "; ".join(kind.example for kind in _KINDS)
_MOST_KEYS = 5


def read_document(value: object, *, options: CheckOptions = DEFAULT_OPTIONS) -> Document[Any]:
    """Read and check plain values, as JSON or YAML give them, of any kind and form. Never raises.

    Fields that only the service sets are passed over, so that its answers can be read as well, and so are
    keys that begin with "x-", which hold anchors of YAML. The JSON of `explain` is read as what it explains.
    """
    if not isinstance(value, Mapping):
        return _nothing(f"{document_hints.hint_about_scalar(value)}; {_EXAMPLES}")
    value = {key: item for key, item in value.items() if not (isinstance(key, str) and key.startswith("x-"))}
    printed = document_hints.explained(value, [kind.printed for kind in _KINDS if kind.printed])
    if printed is not None:
        value = printed
        if any(snake_case(str(key)) == POOLS_KEY for key in printed):
            options = replace(options, with_tasks=options.with_tasks and document_hints.has_a_task(printed))
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
        return _nothing(f"no job is described here{_found(value)}; {about}")
    (what,) = given
    return _FORMS[what].read(value, options)


def _first(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """The key of a document that is one of `wanted`, as it is written there."""
    return next((names[name] for name in wanted if name in names), None)


def _found(value: Mapping[Any, object]) -> str:
    """What a document has instead, its keys."""
    keys = [str(key) for key in value]
    if not keys:
        return ": the document is empty"
    more = f" and {len(keys) - _MOST_KEYS} more keys" if len(keys) > _MOST_KEYS else ""
    shown = keys[:_MOST_KEYS]
    return f": the document has {', '.join(shown) if more else all_of(shown)}{more}"


def _hint(keys: Iterable[str]) -> str:
    words = [word for form in _FORMS.values() for word in form.keys]
    found = (misnamed(snake_case(key)) or nearest(snake_case(key), words, count=1) for key in keys)
    hint = next((hint for hint in found if hint), "")
    return f"{hint} " if hint else ""


def _nothing(message: str) -> Document[Any]:
    return unreadable("pools", (ONE_FORM.broken("", message),))
