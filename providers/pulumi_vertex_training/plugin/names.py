"""The id of a resource that declares none: made from its name, and kept when the resource is renamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.plugin.process import PLUGIN


def with_own_id(
    field: str, made_from: Callable[[str], str], olds: Mapping[str, Any], news: Mapping[str, Any]
) -> dict[str, Any]:
    """The inputs of a check with `field` filled in where it is not given.

    A resource that an alias renames keeps the id that its old name made, and with it the old name among its
    marks: an id cannot change, and another one would replace what is there. What replaces it later, of which
    the check sees no old inputs, keeps the id as well.
    """
    if news.get(field) is not None:
        return dict(news)
    name = str(news["marks"]["resource"])
    renamed = f"{field} of {name}"
    was = (olds.get("marks") or {}).get("resource")
    if was not in (None, name) and olds.get(field) == made_from(was):
        PLUGIN.remember(renamed, was)
    elif not olds:
        was = PLUGIN.recall(renamed)
    else:
        was = None
    kept = str(was or name)
    return {**news, field: made_from(kept), "marks": {**news["marks"], "resource": kept}}
