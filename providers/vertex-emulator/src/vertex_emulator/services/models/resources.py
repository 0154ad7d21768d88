"""Get, List, Update and Delete of models and of their versions, by the engine of stored resources.

With "@VERSION" at its end, the name of a model is the name of a version.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.models.store import (
    DEFAULT,
    IDS,
    MODEL,
    Aliases,
    ModelStore,
    aliases_of,
    find_version,
    number_of,
)
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.listing import Listing
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.resources import Resources

OF_THE_MODEL = ("display_name", "description", "encryption_spec")
"""Fields that all versions of a model share. Labels may be of a model and of a version."""
_STORED = ("name", *OF_THE_MODEL, "labels", "version_id", "create_time", "update_time", "etag")


class _Registered(Resources):
    """The base of models and versions: each is shown with the fields of both.

    `others` are the fields that need the other kind of name to be updated; `remedy` is a sentence about that.
    """

    others: Sequence[str]
    remedy: str

    def __init__(
        self, store: ModelStore, records: Records, operations: ResourceOperations, clock: Clock
    ) -> None:
        self._store = store
        self._clock = clock
        label = replace(listing.LABELS, value=self._labels)
        self.listing = replace(self.listing, fields={**self.listing.fields, "labels": label})
        super().__init__(descriptors.MODEL_SERVICE, records, operations, clock)

    @abstractmethod
    def both(self, record: Record) -> tuple[Record, Record]:
        """Return the model and the version."""

    def shown(self, record: Record) -> DynamicMessage:
        model, version = self.both(record)
        message = descriptors.message(MODEL)
        message.CopyFrom(version.message)
        for field in ("encryption_spec", "create_time", "update_time"):
            message.ClearField(field)
        message.MergeFrom(model.message)
        message.labels.update(version.message.labels)
        message.version_id = version.message.version_id
        message.name = record.name
        parts = (each.message.SerializeToString(deterministic=True) for each in (model, version))
        message.etag = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
        return message

    def overwrite(
        self, message: DynamicMessage, given: DynamicMessage, paths: Sequence[str]
    ) -> Iterable[Violation]:
        if not paths:
            raise invalid_fields([Violation("update_mask", "Required field is not set.")])
        for path in paths:
            if path in self.others:
                raise RpcError("FAILED_PRECONDITION", f"{path} cannot be updated by this name. {self.remedy}")
        return super().overwrite(message, given, paths)

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        yield from names.label_problems(message.labels, "model.labels")

    def _labels(self, record: Record) -> Mapping[str, str]:
        model, version = self.both(record)
        return {**model.message.labels, **version.message.labels}


class Models(_Registered):
    """The methods of models. A model is shown with its default version."""

    updatable = ("display_name", "description", "labels")
    others = ("version_description",)
    remedy = "It is a field of a version: add @VERSION to the name of the model."
    ids = IDS

    def __init__(self, store: ModelStore, operations: ResourceOperations, clock: Clock) -> None:
        self.listing = Listing(
            fields={
                "model": listing.Field(value=lambda record: record.id),
                "display_name": listing.Field(value=lambda record: record.message.display_name),
                "base_model_name": listing.Field(value=self._base_model, operators=("=",)),
            },
            orders=listing.ORDERS,
        )
        super().__init__(store, store, operations, clock)

    def both(self, record: Record) -> tuple[Record, Record]:
        versions = self._store.versions.of(record.place, record.id)
        default = find_version(aliases_of(versions), DEFAULT)
        return record, versions.get(default or 0, record)  # without one, it has just been deleted

    def prepare(self, message: DynamicMessage, _: Record | None) -> None:
        for field, _value in message.ListFields():
            if field.name not in _STORED:
                message.ClearField(field.name)

    def problems(self, message: DynamicMessage, parent: Record | None) -> Iterator[Violation]:
        yield from names.display_name_problems(message.display_name, "model.display_name")
        yield from super().problems(message, parent)

    def complete(self, message: DynamicMessage, _: Place) -> None:
        message.version_id = message.version_id or "1"

    def count(self, message: DynamicMessage) -> bool:
        """Count a new version."""
        message.version_id = str(int(message.version_id) + 1)
        self.stamps.touch(message)
        return True

    def remove(self, record: Record) -> None:
        """Delete a model with all its versions; its files are kept."""
        self._store.remove(record)

    def _base_model(self, record: Record) -> str:
        source = self.both(record)[1].message.base_model_source
        name: str = source.model_garden_source.public_model_name or source.genie_source.base_model_uri
        return name


class Versions(_Registered):
    """The methods of versions."""

    updatable = ("version_description", "labels")
    others = ("display_name", "description")
    remedy = "It is a field of the model: leave out the version in the name."
    listing = Listing(
        orders={
            "create_time": lambda record: record.created,
            "update_time": lambda record: record.message.version_update_time.ToMicroseconds(),
        },
        default_order=[number_of],
    )

    def __init__(self, store: ModelStore, operations: ResourceOperations, clock: Clock) -> None:
        super().__init__(store, store.versions, operations, clock)
        self.listing = replace(self.listing, answer=f"{V1}.ListModelVersionsResponse")

    def both(self, record: Record) -> tuple[Record, Record]:
        return self._store.lookup(record.name), record

    def list_page(self, request: DynamicMessage) -> DynamicMessage:
        """List the versions of a model, oldest first."""
        model = self._store.lookup(request.name)
        return listing.list_records(
            self.records, request, self.listing, place=model.place, below=f"{model.id}@"
        )

    def complete(self, message: DynamicMessage, _: Place) -> None:
        message.version_update_time.FromJsonString(now(self._clock))

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a version, unless it is the only version or the default version."""
        if "@" not in request.name:
            raise RpcError(
                "INVALID_ARGUMENT",
                f"{request.name!r} has no version. Write projects/P/locations/L/models/ID@VERSION.",
            )
        return super().delete(request)

    def remove(self, record: Record) -> None:
        if len(self._store.versions.of(record.place, record.id.partition("@")[0])) == 1:
            raise RpcError(
                "FAILED_PRECONDITION",
                f"{record.name} is the only version of the Model. Deleting the only version in the Model is "
                "not allowed. Use DeleteModel for deleting the Model instead.",
            )
        if DEFAULT in record.message.version_aliases:
            raise RpcError(
                "FAILED_PRECONDITION",
                f"{record.name} is the default version of the Model and cannot be deleted. "
                'Give the alias "default" to another version first.',
            )
        super().remove(record)

    def set_aliases(self, model: Record, before: Aliases, after: Aliases) -> None:
        """Store the changed aliases of a model's versions."""
        for number in before:
            if tuple(before[number]) == tuple(after[number]):
                continue

            def change(message: DynamicMessage, aliases: Sequence[str] = after[number]) -> bool:
                message.version_aliases[:] = aliases
                self.complete(message, model.place)
                return True

            self.records.change(f"{model.id}@{number}", change, place=model.place)
