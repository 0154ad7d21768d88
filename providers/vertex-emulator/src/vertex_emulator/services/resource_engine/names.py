"""Names, IDs and labels of resources."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc.methods import RpcError, Violation

_LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]{1,2}")
_PROJECT = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.:-]{0,99}")
_PARENT = re.compile(r"projects/([^/]+)/locations/([^/]+)")


def parse_parent(name: str) -> Place:
    """Parse `projects/P/locations/L`. Raises `RpcError` INVALID_ARGUMENT."""
    match = _PARENT.fullmatch(name)
    if match is None or not _LOCATION.fullmatch(match[2]):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"{name!r} is not a location. Write projects/PROJECT/locations/REGION with the name of a Google "
            "Cloud region, such as us-central1.",
        )
    return Place(project=match[1], location=match[2])


def read_place(project: str, location: str) -> Place:
    """Return the location from an archive. Raises `RpcError` INVALID_ARGUMENT."""
    if not _PROJECT.fullmatch(project):
        raise RpcError("INVALID_ARGUMENT", f"{project!r} is not a project.")
    return parse_parent(f"projects/{project}/locations/{location}")


def parse_name(name: str, *collections: str) -> tuple[Place, str]:
    """Return the location and the ID of `projects/P/locations/L/COLLECTION/ID`.

    With several collections, the ID is the path below the first one. Raises `RpcError` INVALID_ARGUMENT.
    """
    parent, _, path = name.partition(f"/{collections[0]}/")
    parts = path.split("/")
    if not _PARENT.fullmatch(parent) or not all(parts[::2]) or (*parts[1::2],) != collections[1:]:
        pattern = "/".join(f"{each}/ID" for each in collections)
        raise RpcError(
            "INVALID_ARGUMENT",
            f"{name!r} is not a name of the form projects/PROJECT/locations/REGION/{pattern}.",
        )
    return parse_parent(parent), path


def name_of(place: Place, collection: str, resource_id: str) -> str:
    """Return the resource name in the service's form."""
    return f"{place}/{collection}/{resource_id}"


def new_id() -> str:
    """Return a random ID of 19 decimal digits, as the service generates."""
    return str(10**18 + secrets.randbelow(8 * 10**18))


@dataclass(frozen=True, kw_only=True)
class IdRule:
    """The IDs that clients choose, and the service's words for it. Without an ID the service makes one."""

    pattern: re.Pattern[str]
    words: str
    required: bool = False


NESTED_IDS = IdRule(
    pattern=re.compile(r"[a-z0-9][a-z0-9-]{0,127}"),
    words="{id!r} is not a valid ID. This value should be 1-128 characters: lowercase letters, numbers and "
    "dashes, not beginning with a dash.",
)


RULE = (
    "There can be no more than 64 labels attached to a single resource. Label keys and values can only "
    "contain lowercase letters, numbers, dashes and underscores. Label keys must start with a letter or "
    "number, must be less than 64 characters in length, and must be less that 128 bytes in length when "
    "encoded in UTF-8. Label values must be less than 64 characters in length, and must be less that 128 "
    "bytes in length when encoded in UTF-8."
)
_MOST = 64
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def label_problems(labels: Mapping[str, str], path: str) -> Iterator[Violation]:
    """Check the labels of a resource and yield each violation."""
    if len(labels) > _MOST or not all(
        _KEY.fullmatch(key) and _VALUE.fullmatch(value) for key, value in labels.items()
    ):
        yield Violation(path, RULE)


_MAX_DISPLAY_NAME = 128


def display_name_problems(name: str, path: str) -> Iterator[Violation]:
    """Check a display name, which is required, and yield the violation."""
    if not name:
        yield Violation(path, "Required field is not set.")
    elif len(name) > _MAX_DISPLAY_NAME:
        yield Violation(path, f"The display name can be up to {_MAX_DISPLAY_NAME} characters long.")
