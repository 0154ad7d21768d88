"""DatasetService: its methods, their checks, and datasets in archives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.datasets import contents, splitting
from vertex_emulator.datasets.contents import DataError, Item
from vertex_emulator.datasets.exporting import Exported, Exporter, is_tabular, source_uris
from vertex_emulator.datasets.objects import BucketObjects, directory
from vertex_emulator.datasets.splitting import Split
from vertex_emulator.datasets.store import DATASET, DATASETS, DatasetStore
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.times import now
from vertex_emulator.rpc import descriptors, filters
from vertex_emulator.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.vertex import listing, names
from vertex_emulator.vertex.names import name_of, new_id, parse_parent
from vertex_emulator.vertex.operations import NUMBERS, V1, ResourceOperations
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived, ArchivedRecords, Document, RestoredRecord, Service
from vertex_training.environment.pipeline_data import SETS

SYSTEM = "aiplatform.googleapis.com/"
"""Prefix of the labels that belong to the service."""

_MAX_DISPLAY_NAME = 128


def user_labels(given: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that do not belong to the service."""
    return {key: value for key, value in given.items() if not key.startswith(SYSTEM)}


def problems(dataset: Any) -> Iterator[Violation]:
    """Check a Dataset and yield each violation."""
    if not dataset.display_name:
        yield Violation("dataset.display_name", "Required field is not set.")
    elif len(dataset.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(
            "dataset.display_name", f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        )
    if not contents.schema_title(dataset.metadata_schema_uri):
        yield Violation(
            "dataset.metadata_schema_uri",
            f"{dataset.metadata_schema_uri!r} is not the address of a schema, such as "
            "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml.",
        )
    elif is_tabular(dataset):
        yield from _source_faults(dataset)
    yield from names.label_problems(user_labels(dataset.labels), "dataset.labels")


def _single_uris(metadata: Any) -> None:
    """Replace a list of one table of BigQuery by the table's address, as the service does."""
    config = metadata.struct_value.fields
    for name in ("inputConfig", "input_config"):
        for source in ("bigquerySource", "bigquery_source"):
            if name not in config or source not in config[name].struct_value.fields:
                continue
            uri = config[name].struct_value.fields[source].struct_value.fields["uri"]
            if len(uri.list_value.values) == 1:
                uri.string_value = uri.list_value.values[0].string_value


def _source_faults(dataset: Any) -> Iterator[Violation]:
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


class ArchivedDatasets(ArchivedRecords):
    """All datasets with their items, for an archive."""

    def __init__(self, store: DatasetStore) -> None:
        super().__init__(store)
        self._store = store

    def lines(self, record: Record) -> Iterable[Document]:
        return [
            {"content": each.content, "labels": dict(each.labels)} for each in self._store.items(record.id)
        ]

    def restored(self, document: Document) -> RestoredDataset:
        return RestoredDataset(self._store, document)


class RestoredDataset(RestoredRecord):
    """A dataset of an archive, with its items."""

    def __init__(self, store: DatasetStore, document: Document) -> None:
        super().__init__(store, document)
        self._store = store
        if found := list(problems(self.message)):
            raise invalid_fields(found)

    def read_line(self, line: Document) -> Document:
        content, labels = line.get("content"), line.get("labels")
        if not isinstance(content, dict) or not content:
            raise ValueError("the content of an item must be an object")
        if not isinstance(labels, dict) or not all(isinstance(each, str) for each in labels.values()):
            raise ValueError("the labels of an item must be strings")
        return {"content": content, "labels": labels}

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        items = (Item(content=line["content"], labels=line["labels"]) for line in lines)
        self._store.restore_items(self.id, items)


log = logging.getLogger(__name__)

_SCHEMA_LABEL = f"{SYSTEM}dataset_metadata_schema"
_UPDATABLE = ("display_name", "description", "labels")
_OUTPUT_ONLY = ("name", "data_item_count", "create_time", "update_time", "etag", "metadata_artifact")
_OPERATIONS = ("ImportDataOperationMetadata", "ExportDataOperationMetadata")
_LISTING = listing.Listing(
    answer=f"{V1}.ListDatasetsResponse",
    items="datasets",
    fields={
        "display_name": listing.Field(value=lambda record: record.message.display_name),
        "metadata_schema_uri": listing.Field(value=lambda record: record.message.metadata_schema_uri),
        "labels": listing.LABELS,
    },
    orders={
        "display_name": lambda record: record.message.display_name,
        "create_time": lambda record: record.created,
        "update_time": lambda record: record.message.update_time.ToMicroseconds(),
    },
)


class DatasetService(Service):
    """The datasets of one emulator."""

    def __init__(
        self, database: Database, operations: ResourceOperations, objects: BucketObjects, clock: Clock
    ) -> None:
        self._operations = operations
        self._objects = objects
        self._clock = clock
        self.store = DatasetStore(database, clock)
        self.exporter = Exporter(self.store, objects)
        self._working = 0
        self._lock = threading.Lock()

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "CreateDataset": self.create,
            "GetDataset": self.get,
            "ListDatasets": self.list_datasets,
            "UpdateDataset": self.update,
            "DeleteDataset": self.delete,
            "ImportData": self.import_data,
            "ExportData": self.export_data,
        }
        return {f"{descriptors.DATASET_SERVICE}.{name}": method for name, method in methods.items()}

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

    def archived(self) -> Sequence[Archived]:
        """Return the datasets with their items."""
        return [ArchivedDatasets(self.store)]

    def remove_all(self) -> None:
        self.store.clear()

    def create(self, request: Any) -> Message:
        """Create a dataset. It exists when the method returns."""
        place = parse_parent(request.parent)
        dataset = descriptors.message(DATASET)
        dataset.CopyFrom(request.dataset)
        for field in _OUTPUT_ONLY:
            dataset.ClearField(field)
        if found := list(problems(dataset)):
            raise invalid_fields(found)
        dataset_id = new_id()
        dataset.name = name_of(place, DATASETS.id, dataset_id)
        _single_uris(dataset.metadata)
        dataset.labels[_SCHEMA_LABEL] = contents.schema_title(dataset.metadata_schema_uri).upper()
        at = now(self._clock)
        dataset.create_time.FromJsonString(at)
        dataset.update_time.FromJsonString(at)
        self.store.insert(place, dataset_id, dataset)
        metadata = descriptors.message(f"{V1}.CreateDatasetOperationMetadata")
        return self._operations.done(dataset.name, dataset, metadata)

    def get(self, request: Any) -> Message:
        """Return a dataset."""
        found: Message = listing.masked(self.store.lookup(request.name).message, request.read_mask)
        return found

    def list_datasets(self, request: Any) -> Message:
        """List the datasets of a location."""
        return listing.list_records(self.store, request, _LISTING)

    def update(self, request: Any) -> Message:
        """Update the name, the description and the labels that do not belong to the service."""
        record = self.store.lookup(request.dataset.name)
        paths = list(request.update_mask.paths)
        wrong = [
            Violation("update_mask", f"{path!r} cannot be updated; {', '.join(_UPDATABLE)} can.")
            for path in paths
            if path not in _UPDATABLE
        ]
        wrong += names.label_problems(user_labels(request.dataset.labels), "dataset.labels")
        if wrong:
            raise invalid_fields(wrong)

        def change(message: Any) -> bool:
            system = {key: value for key, value in message.labels.items() if key.startswith(SYSTEM)}
            for path in paths:
                if path == "labels":
                    message.labels.clear()
                    message.labels.update({**user_labels(request.dataset.labels), **system})
                else:
                    setattr(message, path, getattr(request.dataset, path))
            message.update_time.FromJsonString(now(self._clock))
            return True

        changed = self.store.change(record.id, change, place=record.place)
        answer: Message = (changed or record).message
        return answer

    def delete(self, request: Any) -> Message:
        """Delete a dataset with its items; its files are kept."""
        record = self.store.lookup(request.name)
        self.store.remove(record)
        return self._operations.deleted(record.place)

    def import_data(self, request: Any) -> Message:
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

        def work() -> Any:
            found = list(self._items(configs))  # before the database is locked
            self.store.add_items(record.id, found)
            return descriptors.message(f"{V1}.ImportDataResponse")

        return self._begin(record, descriptors.message(f"{V1}.ImportDataOperationMetadata"), work)

    def export_data(self, request: Any) -> Message:
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
        moment = datetime.fromtimestamp(self._clock.microseconds() / 1e6, tz=timezone.utc)
        stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
        folder = directory(config.gcs_destination.output_uri_prefix)
        folder += f"export-data-{record.message.display_name}-{stamp}/"

        def work() -> Any:
            return self._exported(self.exporter.export(record, split, folder), config)

        metadata = descriptors.message(f"{V1}.ExportDataOperationMetadata")
        metadata.gcs_output_directory = folder
        return self._begin(record, metadata, work)

    def _exported(self, exported: Exported, config: Any) -> Any:
        response = descriptors.message(f"{V1}.ExportDataResponse")
        if config.export_use:
            response.exported_files.extend(exported.pattern(each) for each in SETS)
            fill_stats(response.data_stats, exported.sizes)
        else:
            response.exported_files.extend(self._objects.below(exported.folder))
        return response

    def _items(self, configs: Sequence[Any]) -> Iterator[contents.Item]:
        for config in configs:
            for source in self._objects.sources(list(config.gcs_source.uris)):
                yield from contents.read(
                    source, schema_uri=config.import_schema_uri, labels=dict(config.data_item_labels)
                )

    def _begin(self, record: Record, metadata: Any, work: Callable[[], Any]) -> Message:
        """Run `work` in a thread, and return its operation."""
        operation: Any = self._operations.begin(record.name, metadata)
        with self._lock:
            self._working += 1

        def run() -> None:
            try:
                self._operations.finish(operation.name, work())
            except DataError as error:
                self._operations.fail(operation.name, NUMBERS[error.code], error.message)
            except Exception as error:
                log.exception("%s failed", operation.name)
                self._operations.fail(operation.name, NUMBERS["INTERNAL"], f"{type(error).__name__}: {error}")
            finally:
                with self._lock:
                    self._working -= 1

        threading.Thread(target=run, name="dataset", daemon=True).start()
        begun: Message = operation
        return begun


def fill_stats(stats: Any, sizes: Mapping[str, int]) -> None:
    """Fill in a Model.DataStats message."""
    for name, size in sizes.items():
        setattr(stats, f"{name}_data_items_count", size)


def _split(config: Any) -> Split:
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
