"""Tensorboards, experiments, runs and time series: what each kind declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.names import NESTED_IDS
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.tensorboards import blobs
from vertex_emulator.services.tensorboards.store import TensorboardStore

_SYSTEM = "aiplatform.googleapis.com/"
_MAX_PLUGIN_DATA = 65 * 1024
_FIELDS = {
    "name": listing.Field(value=lambda record: record.name),
    "display_name": listing.DISPLAY_NAME,
    "create_time": listing.CREATE_TIME,
}
_LABELED = {**_FIELDS, "labels": listing.LABELS}


class _Level(Resources):
    def __init__(
        self,
        store: TensorboardStore,
        records: Records,
        operations: ResourceOperations,
        clock: Clock,
        *,
        parents: Records | None = None,
    ) -> None:
        super().__init__(descriptors.TENSORBOARD_SERVICE, records, operations, clock, parents=parents)
        self._store = store

    def remove(self, record: Record) -> None:
        self._store.remove(self.records, record)

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        """Check the labels that do not belong to the service."""
        own = {key: value for key, value in message.labels.items() if not key.startswith(_SYSTEM)}
        return names.label_problems(own, f"{self.field}.labels")


class _NamedLevel(_Level):
    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        if not message.display_name:
            yield Violation(f"{self.field}.display_name", "Required field is not set.")
        if "labels" in message.DESCRIPTOR.fields_by_name:
            yield from super().problems(message, _)

    def check_name(self, record: Record) -> None:
        """Raise INVALID_ARGUMENT for the display name of another one in the same parent.

        Google's uploader looks for these words.
        """
        name = record.message.display_name
        for each in self.siblings(record):
            if each.message.display_name == name:
                words = f"A {self.records.collection.noun} with the display name {name!r} already exists in "
                raise RpcError("INVALID_ARGUMENT", f"{words}{record.name.rsplit('/', 2)[0]}: {each.name}.")


class Tensorboards(_NamedLevel):
    """The tensorboards of an emulator."""

    updatable = ("display_name", "description", "labels", "is_default")
    listing = listing.Listing(
        fields={
            **_LABELED,
            "is_default": listing.Field(
                value=lambda record: str(record.message.is_default).lower(), known=("true", "false")
            ),
        },
        orders=listing.ORDERS,
        most=100,
    )

    def __init__(
        self, store: TensorboardStore, operations: ResourceOperations, clock: Clock, objects: BucketObjects
    ) -> None:
        super().__init__(store, store.tensorboards, operations, clock)
        self._objects = objects

    def complete(self, message: DynamicMessage, place: Place) -> None:
        if not message.blob_storage_path_prefix:
            bucket = blobs.ensure_bucket(self._objects.object_store, place)
            message.blob_storage_path_prefix = bucket

    def saved(self, record: Record) -> None:
        """Mark the other tensorboards of the location as not the default one."""

        def unset(message: DynamicMessage) -> bool:
            changed: bool = message.is_default
            message.is_default = False
            return changed

        for each in list(self.records.newest_first(record.place)) if record.message.is_default else ():
            if each.id != record.id:
                self.records.change(each.id, unset, place=each.place)

    def shown(self, record: Record) -> DynamicMessage:
        record.message.run_count = self._store.runs.count_below(record)
        return record.message


class Experiments(_Level):
    """The experiments of all tensorboards."""

    updatable = ("display_name", "description", "labels")
    ids = replace(NESTED_IDS, required=True)
    listing = listing.Listing(
        fields={**_LABELED, "source": listing.Field(value=lambda record: record.message.source)},
        orders=listing.ORDERS,
        page=50,
    )


class Runs(_NamedLevel):
    """The runs of all experiments."""

    updatable = ("display_name", "description", "labels")
    ids = replace(NESTED_IDS, required=True)
    listing = listing.Listing(fields=_LABELED, orders=listing.ORDERS, page=50)
    saved = _NamedLevel.check_name


class TimeSeries(_NamedLevel):
    """The time series of all runs."""

    updatable = ("display_name", "description", "plugin_data")
    ids = NESTED_IDS
    listing = listing.Listing(
        fields={
            **_FIELDS,
            "plugin_name": listing.Field(value=lambda record: record.message.plugin_name),
        },
        orders=listing.ORDERS,
        page=50,
    )
    saved = _NamedLevel.check_name

    def problems(self, message: DynamicMessage, parent: Record | None) -> Iterator[Violation]:
        yield from super().problems(message, parent)
        if not message.value_type:
            yield Violation(f"{self.field}.value_type", "Required field is not set.")
        if len(message.plugin_data) > _MAX_PLUGIN_DATA:
            yield Violation(f"{self.field}.plugin_data", "The size is limited to 65KB.")
