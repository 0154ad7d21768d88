"""The tables of models and their versions, and the rules for version aliases.

The table of models has names, labels and times; the table of versions has all other fields. The `version_id`
of a model is the greatest number so far, because the number of a deleted version is not used again.

Sources: the comments of the API's messages UploadModelRequest, Model and MergeVersionAliasesRequest; Vertex
AI documentation, "How to use model version aliases" and "Versioning with Model Registry".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.names import name_of, parse_name
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

Aliases: TypeAlias = Mapping[int, Sequence[str]]
"""The aliases of each version of a model."""

DEFAULT = "default"
_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")

ID_RULE = (
    "The model ID may have up to 63 characters of [a-z0-9_-]. The first character cannot be a number or "
    "hyphen."
)
ALIAS_RULE = "A version alias has 2 to 128 characters and matches [a-z][a-zA-Z0-9-]{0,126}[a-z0-9]."


class AliasError(ValueError):
    """An invalid change of aliases; `code` is the name of a canonical code."""

    def __init__(self, message: str, *, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A model ID with a version or an alias, which is "" if the name has none."""

    model: str
    version: str


def parse_reference(model: str) -> Reference:
    """Parse `ID`, `ID@VERSION` or `ID@ALIAS`."""
    identifier, _, version = model.partition("@")
    return Reference(model=identifier, version=version)


def is_model_id(text: str) -> bool:
    """Return whether the text is valid as the ID of a new model."""
    return _ID.fullmatch(text) is not None


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

    The first version is the default version. Raises `AliasError`.
    """
    checked = _checked(wanted)
    if not aliases and DEFAULT not in checked:
        checked = (DEFAULT, *checked)
    return _moved({**aliases, version: ()}, version, checked, removed=())


def merge_aliases(aliases: Aliases, version: int, changes: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the aliases of all versions after MergeVersionAliases; `-ALIAS` removes one.

    Raises `AliasError`.
    """
    added = _checked([each for each in changes if not each.startswith("-")])
    removed = _checked([each[1:] for each in changes if each.startswith("-")])
    both = set(added) & set(removed)
    added = tuple(each for each in added if each not in both)
    removed = tuple(each for each in removed if each not in both)
    if DEFAULT in removed and DEFAULT in aliases.get(version, ()):
        raise AliasError(
            'The alias "default" cannot be removed, because a model has exactly one default version. Give '
            "the alias to another version instead.",
            code="FAILED_PRECONDITION",
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
            raise AliasError(f"{each!r}: {ALIAS_RULE}")
    return tuple(dict.fromkeys(aliases))


MODEL = f"{V1}.Model"
MODELS = Collection.of(MODEL)
_OF_THE_MODEL = ("display_name", "description", "encryption_spec", "create_time", "update_time")
_BATCH = 200


@dataclass(frozen=True, kw_only=True)
class ModelVersions:
    """A model and all its versions by number; `version` is the number of the requested version."""

    model: Record
    versions: Mapping[int, Record]
    version: int

    @property
    def place(self) -> Place:
        return self.model.place

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def aliases(self) -> Aliases:
        return {number: each.message.version_aliases for number, each in self.versions.items()}

    def message(self, number: int | None = None, *, versioned: bool = False) -> DynamicMessage:
        """Return a version as the API's Model, by default the requested one.

        With `versioned`, its name has the version.
        """
        version = self.versions[self.version if number is None else number]
        return _shown(self.model, version, versioned=versioned)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model or a version in a list.

    It is cheap to create, because a list sorts thousands to return a hundred.
    """

    created: int
    number: int
    model: Record
    version: Record

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels in the response."""
        return {**self.model.message.labels, **self.version.message.labels}

    def shown(self, *, versioned: bool = False) -> DynamicMessage:
        """Return the API's Model, as `ModelVersions.message` does."""
        return _shown(self.model, self.version, versioned=versioned)


class ModelStore(Records):
    """The tables of models and versions."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, MODELS, table="models")
        self.versions = Records(
            database,
            clock,
            Collection(id="models", message=MODEL, noun="Model version"),
            table="model_versions",
        )

    def resolve(self, name: str) -> ModelVersions:
        """Return the model and version of a resource name, by default the default version.

        Raises `RpcError`.
        """
        place, rest = parse_name(name, MODELS.id)
        reference = parse_reference(rest)
        record = self.get(place, reference.model)
        if record is None:
            raise MODELS.missing(name)
        found = self.with_versions(record)
        number = find_version(found.aliases, reference.version)
        if number is None:
            raise MODELS.missing(name)
        return replace(found, version=number)

    def with_versions(self, record: Record) -> ModelVersions:
        """Return a model with its versions; the default version is the requested one."""
        ordered = self.versions_of(record.place, [record.id]).get(record.id, {})
        return ModelVersions(model=record, versions=ordered, version=_default(ordered))

    def versions_of(self, place: Place, models: Sequence[str]) -> dict[str, dict[int, Record]]:
        """Return the versions of several models of a location, oldest first."""
        rows = self.versions.where(
            "rowid IN (SELECT version.rowid FROM json_each(?) AS model CROSS JOIN model_versions AS version "
            "ON version.project_number = ? AND version.location = ? "
            "AND version.id > model.value || '@' AND version.id < model.value || 'A')",  # 'A' follows '@'
            json.dumps(models),
            place.number,
            place.location,
        )
        found: dict[str, dict[int, Record]] = {}
        for row in sorted(rows, key=_number):
            found.setdefault(row.id.partition("@")[0], {})[_number(row)] = row
        return found

    def remove(self, found: ModelVersions) -> None:
        """Delete a model with all its versions."""
        with self.transaction():
            for number in found.versions:
                self.versions.delete(f"{found.model.id}@{number}", place=found.place)
            self.delete(found.model.id, place=found.place)

    def clear(self) -> None:
        """Delete all models and versions."""
        with self.transaction():
            self.versions.clear()
            super().clear()


@dataclass(frozen=True, kw_only=True)
class ModelList:
    """The models by default version, for the list method."""

    store: ModelStore

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[ListedModel]:
        """Yield the models as `Records.newest_first` does."""
        models = self.store.newest_first(place, before=before)
        while batch := list(islice(models, _BATCH)):
            found = self.store.versions_of(place, [record.id for record in batch])
            for record in batch:
                ordered = found.get(record.id, {})
                if version := ordered.get(_default(ordered)):  # or else the model has just been deleted
                    yield ListedModel(record.created, record.number, record, version)


@dataclass(frozen=True, kw_only=True)
class VersionList:
    """The versions of one model, for the list method."""

    found: ModelVersions

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[ListedModel]:
        """Yield the versions as `Records.newest_first` does."""
        if str(place) != str(self.found.place):
            return
        model = self.found.model
        for record in sorted(self.found.versions.values(), key=_position, reverse=True):
            if before is None or _position(record) < before:
                yield ListedModel(record.created, record.number, model, record)


def model_name(place: Place, model_id: str) -> str:
    """Return the name of a model without a version."""
    return name_of(place, MODELS.id, model_id)


def _shown(model: Record, version: Record, *, versioned: bool) -> DynamicMessage:
    shown = descriptors.message(MODEL)
    shown.CopyFrom(version.message)
    number = _number(version)
    shown.name = f"{model.name}@{number}" if versioned else model.name
    shown.version_id = str(number)
    own = model.message
    for field in _OF_THE_MODEL:
        shown.ClearField(field)
        if field in {each.name for each, _ in own.ListFields()}:
            _copy(own, shown, field)
    for key, value in own.labels.items():
        if key not in shown.labels:
            shown.labels[key] = value
    digest = hashlib.sha256(own.SerializeToString(deterministic=True))
    digest.update(version.message.SerializeToString(deterministic=True))
    shown.etag = digest.hexdigest()[:32]
    return shown


def _default(ordered: Mapping[int, Record]) -> int:
    """Return the number of the default version, or 0 if there are no versions."""
    aliases = {number: each.message.version_aliases for number, each in ordered.items()}
    return find_version(aliases, DEFAULT) or 0


def _number(version: Record) -> int:
    return int(version.id.rpartition("@")[2])


def _position(record: Record) -> tuple[int, int]:
    return record.created, record.number


def _copy(source: DynamicMessage, target: DynamicMessage, field: str) -> None:
    value = getattr(source, field)
    if hasattr(value, "CopyFrom"):
        getattr(target, field).CopyFrom(value)
    else:
        setattr(target, field, value)
