"""Ids of resources that declare none: made from the names of program, stack and resource, and then kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.core.call import Call
from vertex_training.fields.decode import Unknown

_LONGEST = 63
"""The most characters of a bucket's name without dots, and of a repository's id."""


def with_own_id(
    field: str, made_from: Callable[[Mapping[str, str]], str | Unknown], news: Mapping[str, Any], call: Call
) -> dict[str, Any]:
    """Return the inputs of a check, `news`, with `field` filled in if it is not given.

    `made_from` makes the id from the names of program, stack and resource, which are the marks. An id cannot
    change: another one would replace the resource. So a resource keeps the id that its first names made, and
    those names as its marks, when stack, program or resource are renamed. So does its replacement.
    """
    if news.get(field) is not None:
        return dict(news)
    marks, recorded = news["marks"], call.context.recorded
    if (first := recorded.get("marks")) and recorded.get(field) == made_from(first):
        marks = first
    return {**news, field: made_from(marks), "marks": dict(marks)}


def id_from(marks: Mapping[str, str]) -> str:
    """Return PROGRAM-STACK-RESOURCE: an id that is unique in a project and location."""
    return derived_name("", marks["project"], marks["stack"], marks["resource"])


def derived_name(project: str, program: str, stack: str, resource: str) -> str:
    """Return PROJECT-PROGRAM-STACK-RESOURCE, without the empty parts.

    The name has lower case letters, digits and hyphens and begins with a letter; a name that is too long ends
    in a hash of itself. With a project it is as unique in the world as the project's id.
    """
    whole = "-".join(filter(None, [project, program, stack, resource]))
    name = re.sub(r"[^a-z0-9]+", "-", whole.lower()).strip("-")
    if not name[:1].isalpha():
        name = f"t-{name}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9].rstrip('-')}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def object_prefix(resource_name: str) -> str:
    """Return the resource's name as a prefix of objects, which is a path below /gcs as well."""
    parts = re.sub(r"[\x00-\x1f\x7f]", "-", resource_name).split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unnamed"
