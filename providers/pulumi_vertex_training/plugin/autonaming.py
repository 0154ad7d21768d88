"""Names of resources that declare none: made from the resource's name, and kept when that changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.plugin.operation import OPERATION

_LONGEST = 63
"""The most characters of a bucket's name without dots, and of a repository's id."""


def with_own_id(
    field: str, made_from: Callable[[str], str], olds: Mapping[str, Any], news: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the inputs of a check with `field` filled in if it is not given.

    An id cannot change: another one would replace the resource. So a resource that an alias renames keeps the
    id made from its old name, and the old name among its marks. A later replacement, whose check gets no old
    inputs, keeps the id as well.
    """
    if news.get(field) is not None:
        return dict(news)
    name = str(news["marks"]["resource"])
    was = (olds.get("marks") or {}).get("resource")
    if was not in (None, name) and olds.get(field) == made_from(was):
        OPERATION.note_original_name(field, name, str(was))
    elif not olds:
        was = OPERATION.original_name(field, name)
    else:
        was = None
    kept = str(was or name)
    return {**news, field: made_from(kept), "marks": {**news["marks"], "resource": kept}}


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
