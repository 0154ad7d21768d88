"""DatasetService: its methods, their checks, and datasets in archives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from vertex_emulator.kernel import background, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database, DatabaseClosedError
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors, filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets import contents, splitting
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.exporting import Exported, Exporter, is_tabular, source_uris
from vertex_emulator.services.datasets.objects import BucketObjects, directory
from vertex_emulator.services.datasets.splitting import Split
from vertex_emulator.services.datasets.store import DatasetStore
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.operations import NUMBERS, V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import Service
from vertex_training.replica_environment.pipeline_data import SETS

SYSTEM = "aiplatform.googleapis.com/"
"""Prefix of the labels that belong to the service."""


def user_labels(given: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that do not belong to the service."""
    return {key: value for key, value in given.items() if not key.startswith(SYSTEM)}


def problems(dataset: DynamicMessage) -> Iterator[Violation]:
    """Check a Dataset and yield each violation."""
    yield from names.display_name_problems(dataset.display_name, "dataset.display_name")
    if not contents.schema_title(dataset.metadata_schema_uri):
        yield Violation(
            "dataset.metadata_schema_uri",
            f"{dataset.metadata_schema_uri!r} is not the address of a schema, such as "
            "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml.",
        )
    elif is_tabular(dataset):
        yield from _source_faults(dataset)
    yield from names.label_problems(user_labels(dataset.labels), "dataset.labels")


def _single_uris(metadata: DynamicMessage) -> None:
    """Replace a list of one table of BigQuery by the table's address, as the service does."""
    config = metadata.struct_value.fields
    for name in ("inputConfig", "input_config"):
        for source in ("bigquerySource", "bigquery_source"):
            if name not in config or source not in config[name].struct_value.fields:
                continue
            uri = config[name].struct_value.fields[source].struct_value.fields["uri"]
            if len(uri.list_value.values) == 1:
                uri.string_value = uri.list_value.values[0].string_value


def _source_faults(dataset: DynamicMessage) -> Iterator[Violation]:
    try:
        uris = source_uris(dataset)
    except DataError:
        return  # a table in BigQuery can be created
    for uri in uris:
        if not uri.startswith("gs://"):
            yield Violation(
                "dataset.metadata.input_config.gcs_source.uri",
                f"{uri!r} is not an object in a bucket. Write gs://BUCKET/OBJECT.",
            )


log = logging.getLogger(__name__)

_SCHEMA_LABEL = f"{SYSTEM}dataset_metadata_schema"
_OPERATIONS = ("ImportDataOperationMetadata", "ExportDataOperationMetadata")


class _Datasets(Resources):
    updatable = ("display_name", "description", "labels")
    listing = listing.Listing(
        fields={
            "display_name": listing.Field(value=lambda record: record.message.display_name),
            "metadata_schema_uri": listing.Field(value=lambda record: record.message.metadata_schema_uri),
            "labels": listing.LABELS,
        },
        orders=listing.ORDERS,
    )
    etags = False

    def __init__(self, store: DatasetStore, operations: ResourceOperations, clock: Clock) -> None:
        super().__init__(descriptors.DATASET_SERVICE, store, operations, clock)
        self._store = store

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        return problems(message)

    def complete(self, message: DynamicMessage, _: Place) -> None:
        _single_uris(message.metadata)
        message.labels[_SCHEMA_LABEL] = contents.schema_title(message.metadata_schema_uri).upper()

    def overwrite(
        self, message: DynamicMessage, given: DynamicMessage, paths: Sequence[str]
    ) -> Iterable[Violation]:
        """Update the name, the description and the labels that do not belong to the service."""
        system = {key: value for key, value in message.labels.items() if key.startswith(SYSTEM)}
        found = super().overwrite(message, given, paths)
        own = user_labels(message.labels)
        message.labels.clear()
        message.labels.update({**own, **system})
        return found

    def remove(self, record: Record) -> None:
        """Delete a dataset with its items; its files are kept."""
        self._store.remove(record)


class DatasetService(Service):
    """The datasets of one emulator."""

    def __init__(
        self, database: Database, operations: ResourceOperations, objects: BucketObjects, clock: Clock
    ) -> None:
        self._operations = operations
        self._objects = objects
        self._clock = clock
        self.store = DatasetStore(database, clock)
        self._datasets = _Datasets(self.store, operations, clock)
        self.exporter = Exporter(self.store, objects)
        self._working = 0
        self._lock = threading.Lock()

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        service = descriptors.DATASET_SERVICE
        return {
            **self._datasets.methods(),
            f"{service}.ImportData": self.import_data,
            f"{service}.ExportData": self.export_data,
        }

    def start(self) -> None:
        """Fail the imports and exports that were running when the emulator was killed."""
        for operation in self._operations.stored.undone():
            if operation.metadata.type_url.rpartition(".")[2] in _OPERATIONS:
                self._operations.fail(
                    operation.name,
                    NUMBERS["ABORTED"],
                    "The emulator was stopped, and nothing was imported or exported. Send the request again.",
                )

    def live(self) -> int:
        return self._working

    def remove_all(self) -> None:
        self.store.clear()

    def import_data(self, request: DynamicMessage) -> DynamicMessage:
        """Import all items of all files, or none."""
        record = self.store.lookup(request.name)
        if is_tabular(record.message):
            raise RpcError(
                "FAILED_PRECONDITION",
                f"The dataset {record.name} is a table, and items cannot be imported into a table. Create "
                "another dataset with the files.",
            )
        configs = list(request.import_configs)
        if not configs or not all(each.gcs_source.uris and each.import_schema_uri for each in configs):
            raise invalid_fields(
                [Violation("import_configs", "gcs_source.uris and import_schema_uri are required.")]
            )

        def work() -> DynamicMessage:
            found = list(self._items(configs))  # before the database is locked
            self.store.add_items(record.id, found)
            return descriptors.message(f"{V1}.ImportDataResponse")

        return self._begin(record, descriptors.message(f"{V1}.ImportDataOperationMetadata"), work)

    def export_data(self, request: DynamicMessage) -> DynamicMessage:
        """Export the files of the sets, as a training pipeline does."""
        record = self.store.lookup(request.name)
        config = request.export_config
        for field in ("annotations_filter", "saved_query_id"):
            if getattr(config, field):
                raise RpcError("UNIMPLEMENTED", f"export_config.{field}: the emulator does not support it.")
        if not config.gcs_destination.output_uri_prefix.startswith("gs://"):
            raise invalid_fields(
                [Violation("export_config.gcs_destination.output_uri_prefix", "Required field is not set.")]
            )
        split = _split(config)
        folder = directory(config.gcs_destination.output_uri_prefix)
        folder += f"export-data-{record.message.display_name}-{times.milliseconds(self._clock)}/"

        def work() -> DynamicMessage:
            return self._exported(self.exporter.export(record, split, folder), config)

        metadata = descriptors.message(f"{V1}.ExportDataOperationMetadata")
        metadata.gcs_output_directory = folder
        return self._begin(record, metadata, work)

    def _exported(self, exported: Exported, config: DynamicMessage) -> DynamicMessage:
        response = descriptors.message(f"{V1}.ExportDataResponse")
        if config.export_use:
            response.exported_files.extend(exported.pattern(each) for each in SETS)
            fill_stats(response.data_stats, exported.sizes)
        else:
            response.exported_files.extend(self._objects.below(exported.folder))
        return response

    def _items(self, configs: Sequence[DynamicMessage]) -> Iterator[contents.Item]:
        for config in configs:
            for source in self._objects.sources(list(config.gcs_source.uris)):
                yield from contents.read(
                    source, schema_uri=config.import_schema_uri, labels=dict(config.data_item_labels)
                )

    def _begin(
        self, record: Record, metadata: DynamicMessage, work: Callable[[], DynamicMessage]
    ) -> DynamicMessage:
        """Run `work` in a thread, and return its operation."""
        operation = self._operations.begin(record.name, metadata)
        with self._lock:
            self._working += 1

        def run() -> None:
            try:
                self._operations.finish(operation.name, work())
            except DatabaseClosedError:
                raise
            except DataError as error:
                self._operations.fail(operation.name, NUMBERS[error.code], error.message)
            except Exception as error:
                log.exception("%s failed", operation.name)
                self._operations.fail(operation.name, NUMBERS["INTERNAL"], f"{type(error).__name__}: {error}")
            finally:
                with self._lock:
                    self._working -= 1

        background.begin(operation.name, run)
        return operation


def fill_stats(stats: DynamicMessage, sizes: Mapping[str, int]) -> None:
    """Fill in a Model.DataStats message."""
    for name, size in sizes.items():
        setattr(stats, f"{name}_data_items_count", size)


def _split(config: DynamicMessage) -> Split:
    try:
        if config.WhichOneof("split") == "filter_split":
            each = config.filter_split
            filters_ = (each.training_filter, each.validation_filter, each.test_filter)
            for text in filters_:
                splitting.item_filter(text)
            return splitting.ByFilter(training=filters_[0], validation=filters_[1], test=filters_[2])
        if config.WhichOneof("split") == "fraction_split":
            part = config.fraction_split
            return splitting.ByFraction(
                shares=splitting.shares(part.training_fraction, part.validation_fraction, part.test_fraction)
            )
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"export_config.filter_split: {error}.") from error
    except ValueError as error:
        raise RpcError("INVALID_ARGUMENT", f"export_config.fraction_split: {error}.") from error
    return splitting.ByFraction(shares=splitting.shares(1, 0, 0))
