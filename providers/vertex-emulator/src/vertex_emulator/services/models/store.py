"""The tables of models and their versions, and the rules for version aliases.

The table of models has names, labels and times; the table of versions has all other fields. The `version_id`
of a model is the greatest number so far, because the number of a deleted version is not used again.

Sources: the comments of the API's messages UploadModelRequest, Model and MergeVersionAliasesRequest; Vertex
AI documentation, "How to use model version aliases" and "Versioning with Model Registry".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.names import IdRule
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

Aliases: TypeAlias = Mapping[int, Sequence[str]]
"""The aliases of each version of a model."""

DEFAULT = "default"
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")

IDS = IdRule(
    pattern=re.compile(r"[a-z_][a-z0-9_-]{0,62}"),
    words="The model ID may have up to 63 characters of [a-z0-9_-]. The first character cannot be a number "
    "or hyphen.",
)
ALIAS_RULE = "A version alias has 2 to 128 characters and matches [a-z][a-zA-Z0-9-]{0,126}[a-z0-9]."


def is_alias(text: str) -> bool:
    """Return whether the text is valid as an alias."""
    return _ALIAS.fullmatch(text) is not None


def find_version(aliases: Aliases, version: str) -> int | None:
    """Return the version of a number or an alias, or None if there is no such version.

    "" means the default version.
    """
    if version.isascii() and version.isdigit():
        return int(version) if int(version) in aliases else None
    wanted = version or DEFAULT
    return next((number for number, each in aliases.items() if wanted in each), None)


def add_version(aliases: Aliases, version: int, wanted: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the aliases of all versions after a version is added. Its aliases move from other versions.

    The first version is the default version. Raises `RpcError`.
    """
    checked = _checked(wanted)
    if not aliases and DEFAULT not in checked:
        checked = (DEFAULT, *checked)
    return _moved({**aliases, version: ()}, version, checked, removed=())


def merge_aliases(aliases: Aliases, version: int, changes: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the aliases of all versions after MergeVersionAliases; `-ALIAS` removes one.

    Raises `RpcError`.
    """
    added = _checked([each for each in changes if not each.startswith("-")])
    removed = _checked([each[1:] for each in changes if each.startswith("-")])
    both = set(added) & set(removed)
    added = tuple(each for each in added if each not in both)
    removed = tuple(each for each in removed if each not in both)
    if DEFAULT in removed and DEFAULT in aliases.get(version, ()):
        raise RpcError(
            "FAILED_PRECONDITION",
            'The alias "default" cannot be removed, because a model has exactly one default version. Give '
            "the alias to another version instead.",
        )
    return _moved(aliases, version, added, removed=removed)


def _moved(
    aliases: Aliases, version: int, added: Sequence[str], *, removed: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    after: dict[int, tuple[str, ...]] = {}
    for number, present in aliases.items():
        if number == version:
            kept = [each for each in present if each not in removed]
            after[number] = tuple(dict.fromkeys([*kept, *added]))
        else:
            after[number] = tuple(each for each in present if each not in added)
    return after


def _checked(aliases: Sequence[str]) -> tuple[str, ...]:
    for each in aliases:
        if not is_alias(each):
            raise RpcError("INVALID_ARGUMENT", f"{each!r}: {ALIAS_RULE}")
    return tuple(dict.fromkeys(aliases))


MODEL = f"{V1}.Model"
MODELS = Collection.of(MODEL)


class VersionStore(Records):
    """The table of versions. The ID of a version is the ID of its model, "@" and its number."""

    def __init__(self, database: Database, clock: Clock) -> None:
        versions = replace(MODELS, created="version_create_time")
        super().__init__(database, clock, versions, table="model_versions")

    def lookup(self, name: str) -> Record:
        """Return the version of a name, which may have a number or an alias; by default the default version.

        Raises `RpcError`.
        """
        place, rest = self.collection.parse(name)
        model_id, _, wanted = rest.partition("@")
        found = self.of(place, model_id)
        number = find_version(aliases_of(found), wanted)
        if number is None:
            raise self.collection.missing(name)
        return found[number]

    def of(self, place: Place, model_id: str) -> dict[int, Record]:
        """Return the versions of a model by number, oldest first."""
        found = self.where(
            "project_number = ? AND location = ? AND id > ? AND id < ?",
            *(place.number, place.location, f"{model_id}@", f"{model_id}A"),  # "A" follows "@"
        )
        return dict(sorted((number_of(each), each) for each in found))


class ModelStore(Records):
    """The tables of models and versions."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, MODELS, table="models")
        self.versions = VersionStore(database, clock)

    def lookup(self, name: str) -> Record:
        """Return the model of a name, which may have a version. Raises `RpcError`."""
        return super().lookup(name.partition("@")[0])

    def parent(self, place: Place, name: str) -> Record:
        """Return the model that gets a new version, which is in the same location. Raises `RpcError`."""
        found = self.lookup(name)
        if str(found.place) != str(place):
            raise MODELS.missing(name)
        return found

    def remove(self, model: Record) -> None:
        """Delete a model with all its versions."""
        with self.transaction():
            for version in self.versions.of(model.place, model.id).values():
                self.versions.delete(version.id, place=model.place)
            self.delete(model.id, place=model.place)

    def clear(self) -> None:
        """Delete all models and versions."""
        with self.transaction():
            self.versions.clear()
            super().clear()


def number_of(version: Record) -> int:
    """Return the number of a version."""
    return int(version.id.rpartition("@")[2])


def aliases_of(versions: Mapping[int, Record]) -> Aliases:
    """Return the aliases of versions."""
    return {number: each.message.version_aliases for number, each in versions.items()}
