"""The names of what a resource makes, as a job may write them: a name, an id, a member of a policy.

Imported by every program, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_vertex_training import registry

_OF_ALL = ("name", "image_name", "tags")
_OF_TYPES: Mapping[str, tuple[str, ...]] = {
    ":PersistentResource": ("persistent_resource_id",),
    ":StagedFile": ("object_name",),
    ":StagedPackage": ("object_name",),
    "gcp:serviceaccount/account:Account": ("account_id",),
    "gcp:projects/service:Service": ("service",),
    "gcp:servicenetworking/connection:Connection": ("network",),
    "IAMMember": ("member",),
    "IamMember": ("member",),
    "IAMBinding": ("members",),
    "IamBinding": ("members",),
}
"""Inputs of some types, by the end of the type's token."""

_OF_CONTENT = (":StagedFile", ":StagedPackage", ":StagedFolder", ":TrainingImage")


def is_of_content(token: str) -> bool:
    """Return whether an update of a resource makes something new under the name of its content."""
    return token.endswith(_OF_CONTENT)


def names_made(token: str, inputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what a resource makes, by its type token and its inputs as far as they are known.

    The inputs are named as in a program, `account_id`, or as in a preview, `accountId`.
    """
    own = (fields for end, fields in _OF_TYPES.items() if token.endswith(end))
    for field in (*_OF_ALL, *(field for fields in own for field in fields)):
        value = inputs.get(field, inputs.get(_camel_case(field)))
        for name in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(name, str):
                yield name.rpartition("/")[2] if field == "network" else name


def can_make(token: str, need: str) -> bool:
    """Return whether a resource of a type can make what a job needs.

    `need` is "image", "bucket", "object", or "" for anything else, such as an account. A resource of another
    provider, such as a command, can make anything.
    """
    if name := registry.resource_of(token):
        return name in _OUR_MAKERS.get(need, _OURS)
    return not token.startswith("gcp:") or token.startswith(_GOOGLES_MAKERS.get(need, "gcp:"))


_OURS = frozenset(registry.TYPES.values())
_OUR_MAKERS: Mapping[str, frozenset[str]] = {
    "image": frozenset({"ImageRepository", "TrainingImage"}),
    "bucket": frozenset({"StagingBucket"}),
    "object": frozenset({"StagedFile", "StagedFolder", "StagedPackage"}),
    "": _OURS - {"ImageRepository", "StagedFile", "StagedFolder", "StagingBucket", "TrainingImage"},
}
_GOOGLES_MAKERS: Mapping[str, str | tuple[str, ...]] = {
    "image": ("gcp:artifactregistry/", "gcp:cloudbuild"),
    "bucket": "gcp:storage/",
    "object": "gcp:storage/",
}


def _camel_case(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(word.capitalize() for word in others)
