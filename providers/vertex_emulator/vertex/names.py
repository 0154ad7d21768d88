"""Names, IDs and labels of resources."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping

from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc.methods import RpcError, Violation

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


def parse_name(name: str, collection: str) -> tuple[Place, str]:
    """Return the location and the ID of `projects/P/locations/L/COLLECTION/ID`.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    parent, found, rest = name.partition(f"/{collection}/")
    if not found or not rest or "/" in rest or not _PARENT.fullmatch(parent):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"{name!r} is not a name of the form projects/PROJECT/locations/REGION/{collection}/ID.",
        )
    return parse_parent(parent), rest


def name_of(place: Place, collection: str, resource_id: str) -> str:
    """Return the resource name in the service's form."""
    return f"{place}/{collection}/{resource_id}"


def new_id() -> str:
    """Return a random ID of 19 decimal digits, as the service generates."""
    return str(10**18 + secrets.randbelow(8 * 10**18))


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
