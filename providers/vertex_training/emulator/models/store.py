"""Models and their versions as they are stored, and as they are shown together.

Of a model there are its names, labels and times; of each version all the rest. The model's own `version_id`
is the greatest that was ever given: numbers of deleted versions do not come again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vertex_training.emulator import descriptors
from vertex_training.emulator.clock import Clock
from vertex_training.emulator.database import Database
from vertex_training.emulator.models import versions
from vertex_training.emulator.projects import Place
from vertex_training.emulator.vertex.answers import V1, not_found
from vertex_training.emulator.vertex.names import name_of, parse_name
from vertex_training.emulator.vertex.records import Collection, Record, Records

MODEL = f"{V1}.Model"
MODELS = Collection(id="models", message=MODEL, noun="Model")
_OF_THE_MODEL = ("display_name", "description", "encryption_spec", "create_time", "update_time")


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
        number = self.version if number is None else number
        shown = descriptors.message(MODEL)
        shown.CopyFrom(self.versions[number].message)
        shown.name = f"{self.name}@{number}" if versioned else self.name
        shown.version_id = str(number)
        own = self.model.message
        for field in _OF_THE_MODEL:
            shown.ClearField(field)
            if field in {each.name for each, _ in own.ListFields()}:
                _copy(own, shown, field)
        for key, value in own.labels.items():
            if key not in shown.labels:
                shown.labels[key] = value
        digest = hashlib.sha256(own.SerializeToString(deterministic=True))
        digest.update(self.versions[number].message.SerializeToString(deterministic=True))
        shown.etag = digest.hexdigest()[:32]
        return shown


class ModelStore(Records):
    """All models; what `newest_first` gives is shown by its default version, as the list has it."""

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
        reference = versions.parse(rest)
        record = self.get(place, reference.model)
        if record is None:
            raise not_found(MODELS, name)
        found = self.whole(record)
        number = versions.found(found.aliases, reference.version)
        if number is None:
            raise not_found(MODELS, name)
        return replace(found, version=number)

    def whole(self, record: Record) -> Found:
        """A model with its versions, shown by the default one."""
        rows = self.versions.where(
            "project_number = ? AND location = ? AND id GLOB ?",
            record.place.number,
            record.place.location,
            f"{record.id}@*",
        )
        found = {int(row.id.rpartition("@")[2]): row for row in rows}
        ordered = dict(sorted(found.items()))
        aliases = {number: each.message.version_aliases for number, each in ordered.items()}
        return Found(model=record, versions=ordered, version=versions.found(aliases, "") or 0)

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """The models of a place, as the API shows them."""
        for record in super().newest_first(place, before=before):
            found = self.whole(record)
            if found.versions:  # else it was deleted just now
                yield replace(record, message=found.message())

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
class VersionsOf:
    """The versions of one model, for the list method."""

    found: Found

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """As `Records.newest_first`."""
        if str(place) != str(self.found.place):
            return
        for number, record in sorted(self.found.versions.items(), reverse=True):
            position = (record.created, record.number)
            if before is None or position < before:
                yield replace(record, message=self.found.message(number, versioned=True))


def model_name(place: Place, model_id: str) -> str:
    """The name of a model without a version."""
    return name_of(place, MODELS.id, model_id)


def _copy(source: Any, target: Any, field: str) -> None:
    value = getattr(source, field)
    if hasattr(value, "CopyFrom"):
        getattr(target, field).CopyFrom(value)
    else:
        setattr(target, field, value)
