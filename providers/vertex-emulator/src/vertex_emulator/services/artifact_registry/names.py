"""Resource names of Artifact Registry in the API's form: a slash within an identifier is `%2F`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, unquote

from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc.methods import RpcError

_PROJECT = re.compile(r"projects/([^/]+)")
_PLACE = re.compile(r"projects/([^/]+)/locations/([^/]+)")
_REPOSITORY = re.compile(rf"{_PLACE.pattern}/repositories/([^/]+)")
_REPOSITORY_ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
LEGACY_IDS = {"gcr.io": "us", "us.gcr.io": "us", "eu.gcr.io": "europe", "asia.gcr.io": "asia"}
_UNESCAPED = "-._~:@"
"""Characters of an identifier that the API does not escape, besides letters and digits."""


@dataclass(frozen=True, kw_only=True)
class RepositoryName:
    """The resource name of a repository."""

    place: Place
    id: str

    def __str__(self) -> str:
        return f"{self.place.as_asked}/repositories/{self.id}"

    @property
    def key(self) -> str:
        """The database key, which is the same for a project's ID and number."""
        return f"{self.place.number}/{self.place.location}/{self.id}"


@dataclass(frozen=True, kw_only=True)
class ItemName:
    """The resource name of an item of a repository, such as a package.

    `items` are the decoded identifiers, the outermost first.
    """

    repository: RepositoryName
    items: tuple[str, ...]


def parse_project(name: str) -> str:
    """Return the project of `projects/P`.

    Like all parsers here, raises `RpcError` INVALID_ARGUMENT for a name of another form.
    """
    match = _PROJECT.fullmatch(name)
    return match[1] if match else _wrong(name, "projects/PROJECT")


def parse_place(name: str) -> Place:
    """Parse `projects/P/locations/L`."""
    match = _PLACE.fullmatch(name)
    if match is None:
        _wrong(name, "projects/PROJECT/locations/LOCATION")
    return Place(project=match[1], location=match[2])


def parse_repository(name: str) -> RepositoryName:
    """Parse `projects/P/locations/L/repositories/R`."""
    match = _REPOSITORY.fullmatch(name)
    if match is None:
        _wrong(name, "projects/PROJECT/locations/LOCATION/repositories/REPOSITORY")
    return RepositoryName(place=Place(project=match[1], location=match[2]), id=match[3])


def parse_item(name: str, *collections: str) -> ItemName:
    """Parse the name of an item in nested collections, such as "packages", "versions"."""
    form = "/".join(f"{each}/([^/]+)" for each in collections)
    match = re.fullmatch(rf"({_REPOSITORY.pattern})/{form}", name)
    if match is None:
        tail = "/".join(f"{each}/{each[:-1].upper()}" for each in collections)
        _wrong(name, f"projects/PROJECT/locations/LOCATION/repositories/REPOSITORY/{tail}")
    return ItemName(
        repository=parse_repository(match[1]), items=tuple(unquote(each) for each in match.groups()[4:])
    )


def escaped(identifier: str) -> str:
    """Escape an identifier for use in a resource name."""
    return quote(identifier, safe=_UNESCAPED)


def check_repository_id(identifier: str, location: str) -> None:
    """Check the ID of a new repository against the service's rule.

    The four IDs of Container Registry are allowed only in their own location. Raises `RpcError`
    INVALID_ARGUMENT.
    """
    if LEGACY_IDS.get(identifier) == location or _REPOSITORY_ID.fullmatch(identifier):
        return
    if identifier in LEGACY_IDS:
        rule = f"a repository of this name must be in {LEGACY_IDS[identifier]}, not in {location}"
    else:
        rule = (
            "it must begin with a letter, end with a letter or digit, and have at most 63 characters, only "
            "lowercase letters, digits and hyphens"
        )
    raise RpcError("INVALID_ARGUMENT", f"repository_id {identifier!r} is not valid: {rule}.")


def _wrong(name: str, form: str) -> NoReturn:
    raise RpcError("INVALID_ARGUMENT", f"{name!r} is not a name of the form {form}.")
