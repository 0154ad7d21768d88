"""Models, their versions and aliases: how they are stored, and how they are shown together.

Of a model there are its names, labels and times; of each version all the rest. The model's own `version_id`
is the greatest that was ever given: numbers of deleted versions do not come again.

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
from typing import Any

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors
from vertex_emulator.vertex.answers import V1, not_found
from vertex_emulator.vertex.names import name_of, parse_name
from vertex_emulator.vertex.records import Collection, Record, Records

DEFAULT = "default"
_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")

ID_RULE = (
    "The model ID may have up to 63 characters of [a-z0-9_-]. The first character cannot be a number or "
    "hyphen."
)
ALIAS_RULE = "A version alias has 2 to 128 characters and matches [a-z][a-zA-Z0-9-]{0,126}[a-z0-9]."


class AliasError(ValueError):
    """Aliases that cannot be; `code` is a canonical code by name."""

    def __init__(self, message: str, *, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A model's id and what follows its `@`, "" for nothing: a version or an alias."""

    model: str
    version: str


def parse(model: str) -> Reference:
    """Read `ID`, `ID@VERSION` or `ID@ALIAS`."""
    identifier, _, version = model.partition("@")
    return Reference(model=identifier, version=version)


def is_id(text: str) -> bool:
    """Whether somebody may choose it as a model's id."""
    return _ID.fullmatch(text) is not None


def is_alias(text: str) -> bool:
    """Whether it may be an alias of a version."""
    return _ALIAS.fullmatch(text) is not None


def find_version(aliases: Mapping[int, Sequence[str]], version: str) -> int | None:
    """The version of a number or alias, "" standing for the default; None when there is none."""
    if version.isascii() and version.isdigit():
        return int(version) if int(version) in aliases else None
    wanted = version or DEFAULT
    return next((number for number, each in aliases.items() if wanted in each), None)


def with_new(
    aliases: Mapping[int, Sequence[str]], version: int, wanted: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """The aliases of all versions after `version` came with those: they move to it from other versions.

    The first version is the default one. Raises `AliasError`.
    """
    checked = _checked(wanted)
    if not aliases and DEFAULT not in checked:
        checked = (DEFAULT, *checked)
    return _moved({**aliases, version: ()}, version, checked, removed=())


def merged(
    aliases: Mapping[int, Sequence[str]], version: int, changes: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """The aliases after MergeVersionAliases; `-ALIAS` takes one away. Raises `AliasError`."""
    added = _checked([each for each in changes if not each.startswith("-")])
    removed = _checked([each[1:] for each in changes if each.startswith("-")])
    both = set(added) & set(removed)
    added = tuple(each for each in added if each not in both)
    removed = tuple(each for each in removed if each not in both)
    if DEFAULT in removed and DEFAULT in aliases.get(version, ()):
        raise AliasError(
            'The alias "default" cannot be removed: a model has exactly one default version. Give it to '
            "another version instead.",
            code="FAILED_PRECONDITION",
        )
    return _moved(aliases, version, added, removed=removed)


def _moved(
    aliases: Mapping[int, Sequence[str]], version: int, added: Sequence[str], *, removed: Sequence[str]
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
MODELS = Collection(id="models", message=MODEL, noun="Model")
_OF_THE_MODEL = ("display_name", "description", "encryption_spec", "create_time", "update_time")
_BATCH = 200


@dataclass(frozen=True, kw_only=True)
class Found:
    """A model and all its versions by their numbers; `version` is the one that was asked for."""

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
    def aliases(self) -> Mapping[int, Sequence[str]]:
        return {number: each.message.version_aliases for number, each in self.versions.items()}

    def message(self, number: int | None = None, *, versioned: bool = False) -> Any:
        """The model as the API shows it, by default the version that was asked for.

        `versioned`: with the version in its name.
        """
        version = self.versions[self.version if number is None else number]
        return _shown(self.model, version, versioned=versioned)


@dataclass(frozen=True, slots=True)
class Listed:
    """A model, or a version of it, in a list: lists put thousands in order to show a hundred."""

    created: int
    number: int
    model: Record
    version: Record

    @property
    def labels(self) -> Mapping[str, str]:
        """Those that it is shown with."""
        return {**self.model.message.labels, **self.version.message.labels}

    def shown(self, *, versioned: bool = False) -> Any:
        """As `Found.message`."""
        return _shown(self.model, self.version, versioned=versioned)


class ModelStore(Records):
    """All models, without their versions, and the versions."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, MODELS, table="models")
        self.versions = Records(
            database,
            clock,
            Collection(id="models", message=MODEL, noun="Model version"),
            table="model_versions",
        )

    def look(self, name: str) -> Found:
        """The model and the version in a name, the default one where it has none. Raises `RpcError`."""
        place, rest = parse_name(name, MODELS.id)
        reference = parse(rest)
        record = self.get(place, reference.model)
        if record is None:
            raise not_found(MODELS, name)
        found = self.whole(record)
        number = find_version(found.aliases, reference.version)
        if number is None:
            raise not_found(MODELS, name)
        return replace(found, version=number)

    def whole(self, record: Record) -> Found:
        """A model with its versions, shown by the default one."""
        ordered = self.versions_of(record.place, [record.id]).get(record.id, {})
        return Found(model=record, versions=ordered, version=_default(ordered))

    def versions_of(self, place: Place, models: Sequence[str]) -> dict[str, dict[int, Record]]:
        """The versions of several models of a place, the oldest first."""
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

    def remove(self, found: Found) -> None:
        """Remove a model with all its versions."""
        with self.transaction():
            for number in found.versions:
                self.versions.delete(f"{found.model.id}@{number}", place=found.place)
            self.delete(found.model.id, place=found.place)

    def clear(self) -> None:
        """Remove all."""
        with self.transaction():
            self.versions.clear()
            super().clear()


@dataclass(frozen=True, kw_only=True)
class AllModels:
    """The models, each by its default version, for the list method."""

    store: ModelStore

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Listed]:
        """As `Records.newest_first`."""
        models = self.store.newest_first(place, before=before)
        while batch := list(islice(models, _BATCH)):
            found = self.store.versions_of(place, [record.id for record in batch])
            for record in batch:
                ordered = found.get(record.id, {})
                if version := ordered.get(_default(ordered)):  # else it was deleted just now
                    yield Listed(record.created, record.number, record, version)


@dataclass(frozen=True, kw_only=True)
class VersionsOf:
    """The versions of one model, for the list method."""

    found: Found

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Listed]:
        """As `Records.newest_first`."""
        if str(place) != str(self.found.place):
            return
        model = self.found.model
        for record in sorted(self.found.versions.values(), key=_position, reverse=True):
            if before is None or _position(record) < before:
                yield Listed(record.created, record.number, model, record)


def model_name(place: Place, model_id: str) -> str:
    """The name of a model without a version."""
    return name_of(place, MODELS.id, model_id)


def _shown(model: Record, version: Record, *, versioned: bool) -> Any:
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
    """The number of the default one of a model's versions, 0 when there are none."""
    aliases = {number: each.message.version_aliases for number, each in ordered.items()}
    return find_version(aliases, DEFAULT) or 0


def _number(version: Record) -> int:
    return int(version.id.rpartition("@")[2])


def _position(record: Record) -> tuple[int, int]:
    return record.created, record.number


def _copy(source: Any, target: Any, field: str) -> None:
    value = getattr(source, field)
    if hasattr(value, "CopyFrom"):
        getattr(target, field).CopyFrom(value)
    else:
        setattr(target, field, value)
