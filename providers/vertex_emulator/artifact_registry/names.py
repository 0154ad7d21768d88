"""Resource names of Artifact Registry, as the API writes them: slashes within an identifier are `%2F`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, unquote

from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc.methods import RpcError

_PROJECT = re.compile(r"projects/([^/]+)")
_PLACE = re.compile(r"projects/([^/]+)/locations/([^/]+)")
_REPOSITORY = re.compile(rf"{_PLACE.pattern}/repositories/([^/]+)")
_REPOSITORY_ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LEGACY_IDS = {"gcr.io": "us", "us.gcr.io": "us", "eu.gcr.io": "europe", "asia.gcr.io": "asia"}
_KEPT = "-._~:@"
"""What the API leaves as it is in an identifier, besides letters and digits."""


@dataclass(frozen=True, kw_only=True)
class RepositoryName:
    """The name of a repository."""

    place: Place
    id: str

    def __str__(self) -> str:
        return f"{self.place.as_asked}/repositories/{self.id}"

    @property
    def key(self) -> str:
        """The same for a project's id and its number."""
        return f"{self.place.number}/{self.place.location}/{self.id}"


@dataclass(frozen=True, kw_only=True)
class ItemName:
    """The name of something in a repository, such as a package; `items` are decoded, the outermost first."""

    repository: RepositoryName
    items: tuple[str, ...]


def parse_project(name: str) -> str:
    """The project in `projects/P`. Raises `RpcError` INVALID_ARGUMENT, as all of these."""
    match = _PROJECT.fullmatch(name)
    return match[1] if match else _wrong(name, "projects/PROJECT")


def parse_place(name: str) -> Place:
    """Read `projects/P/locations/L`."""
    match = _PLACE.fullmatch(name)
    if match is None:
        _wrong(name, "projects/PROJECT/locations/LOCATION")
    return Place(project=match[1], location=match[2])


def parse_repository(name: str) -> RepositoryName:
    """Read `projects/P/locations/L/repositories/R`."""
    match = _REPOSITORY.fullmatch(name)
    if match is None:
        _wrong(name, "projects/PROJECT/locations/LOCATION/repositories/REPOSITORY")
    return RepositoryName(place=Place(project=match[1], location=match[2]), id=match[3])


def parse_item(name: str, *collections: str) -> ItemName:
    """Read the name of what is in nested collections, such as "packages", "versions"."""
    form = "/".join(f"{each}/([^/]+)" for each in collections)
    match = re.fullmatch(rf"({_REPOSITORY.pattern})/{form}", name)
    if match is None:
        tail = "/".join(f"{each}/{each[:-1].upper()}" for each in collections)
        _wrong(name, f"projects/PROJECT/locations/LOCATION/repositories/REPOSITORY/{tail}")
    return ItemName(
        repository=parse_repository(match[1]), items=tuple(unquote(each) for each in match.groups()[4:])
    )


def escaped(identifier: str) -> str:
    """An identifier as it stands in a name."""
    return quote(identifier, safe=_KEPT)


def check_repository_id(identifier: str, location: str) -> None:
    """The service's rule for new names; the four of Container Registry may be taken in their places only."""
    if _LEGACY_IDS.get(identifier) == location or _REPOSITORY_ID.fullmatch(identifier):
        return
    if identifier in _LEGACY_IDS:
        rule = f"a repository of this name has to be in {_LEGACY_IDS[identifier]}, not in {location}"
    else:
        rule = (
            "it has to begin with a letter, end with a letter or digit, and have lowercase letters, digits "
            "and hyphens only, at most 63"
        )
    raise RpcError("INVALID_ARGUMENT", f"repository_id {identifier!r} is not valid: {rule}.")


def _wrong(name: str, form: str) -> NoReturn:
    raise RpcError("INVALID_ARGUMENT", f"{name!r} is not a name of the form {form}.")
