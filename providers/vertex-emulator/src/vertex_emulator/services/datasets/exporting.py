"""Export of a dataset into files: several shards for each of the three sets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.datasets import contents, splitting
from vertex_emulator.services.datasets.contents import DataError, Item, schema_title
from vertex_emulator.services.datasets.objects import BucketObjects, directory
from vertex_emulator.services.datasets.splitting import Assignment, Split
from vertex_emulator.services.datasets.store import DatasetStore
from vertex_emulator.services.resource_engine.records import Record
from vertex_training.replica_environment.pipeline_data import SETS, file_pattern

MAX_FILES = 4
"""Maximum number of files per set, as in exports of the service."""


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One file of a set: number `index` of `of` files."""

    set: int
    index: int
    of: int

    def file_name(self, extension: str) -> str:
        """Return the file name that the service uses."""
        return f"{SETS[self.set]}-{self.index:05}-of-{self.of:05}.{extension}"


def sizes(assignment: Assignment) -> Mapping[str, int]:
    """Return the number of rows of each set."""
    found = [0] * len(SETS)
    for chosen in assignment:
        if chosen is not None:
            found[chosen] += 1
    return dict(zip(SETS, found, strict=True))


def shards(assignment: Assignment) -> list[Shard]:
    """Return the files to write: at most one per row of a set, and one for an empty set."""
    return [
        Shard(set=index, index=number, of=files)
        for index, size in enumerate(sizes(assignment).values())
        for files in [min(MAX_FILES, max(size, 1))]
        for number in range(files)
    ]


def assigned_lines(assignment: Assignment, lines: Iterable[bytes]) -> Iterator[tuple[Shard, bytes]]:
    """Yield each line that is in a set, with its file. Raises ValueError if the number of lines differs."""
    files: dict[int, list[Shard]] = {}
    for shard in shards(assignment):
        files.setdefault(shard.set, []).append(shard)
    written = [0] * len(SETS)
    for chosen, line in zip(assignment, lines, strict=True):
        if chosen is not None:
            of_set = files[chosen]
            yield of_set[written[chosen] % len(of_set)], line
            written[chosen] += 1


def csv_lines(rows: Iterable[Sequence[str]]) -> Iterator[bytes]:
    """Yield rows as CSV lines; values are quoted if needed."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        yield buffer.getvalue().encode("utf-8")
        buffer.seek(0)
        buffer.truncate()


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The result of an export. `folder` ends with a slash; `sizes` are the rows or items of each set."""

    folder: str
    extension: str
    sizes: Mapping[str, int]

    def pattern(self, set_name: str) -> str:
        """Return the address of all files of a set, with a wildcard."""
        return self.folder + file_pattern(set_name, self.extension)


def is_tabular(dataset: DynamicMessage) -> bool:
    """Return whether a Dataset is a table."""
    return schema_title(dataset.metadata_schema_uri) in ("tabular", "tables", "time_series")


def source_uris(dataset: DynamicMessage) -> list[str]:
    """Return the addresses of a table's files. Raises `DataError` for a table in BigQuery."""
    metadata = json_format.MessageToDict(dataset.metadata, descriptor_pool=descriptors.pool())
    config: Any = _member(_member(metadata, "inputConfig", "input_config"), "gcsSource", "gcs_source")
    if config is None:
        raise DataError(
            f"The dataset {dataset.name} has no files in Cloud Storage, and the emulator has no BigQuery. "
            "Export the table as CSV into a bucket, and create the dataset with gcs_source.",
            code="UNIMPLEMENTED",
        )
    uris = config.get("uri", config.get("uris", [])) if isinstance(config, Mapping) else config
    return [uris] if isinstance(uris, str) else [str(each) for each in uris]


class Exporter:
    """The export of datasets to Cloud Storage."""

    def __init__(self, store: DatasetStore, objects: BucketObjects) -> None:
        self._store = store
        self._objects = objects

    def export(self, dataset: Record, split: Split, folder: str, *, persist: bool = False) -> Exported:
        """Write a dataset into a folder, and replace existing files of the same names.

        With `persist`, the sets are stored as labels of the items. Raises `DataError`, also if the training
        set is empty.
        """
        if is_tabular(dataset.message):
            return self._table(dataset, split, directory(folder))
        items = self._store.items(dataset.id)
        assignment = _of_items(items, split)
        _check(assignment, dataset.name)
        lines = (
            item.line("" if chosen is None else SETS[chosen])
            for item, chosen in zip(items, assignment, strict=True)
        )
        exported = self._write(directory(folder), "jsonl", assignment, lines)
        if persist:
            uses = [None if chosen is None else SETS[chosen] for chosen in assignment]
            self._store.assign(dataset.id, items, uses)
        return exported

    def _table(self, dataset: Record, split: Split, folder: str) -> Exported:
        table = contents.table(self._objects.sources(source_uris(dataset.message)))
        assignment = _of_rows(table, split)
        _check(assignment, dataset.name)
        header = next(iter(csv_lines([table.header])))
        return self._write(folder, "csv", assignment, csv_lines(table.rows()), header=header)

    def _write(
        self,
        folder: str,
        extension: str,
        assignment: Assignment,
        lines: Iterable[bytes],
        *,
        header: bytes = b"",
    ) -> Exported:
        if not self._objects.has_bucket(folder):
            raise DataError(f"There is no bucket for {folder}. Create it first.", code="NOT_FOUND")
        names = {shard: folder + shard.file_name(extension) for shard in shards(assignment)}
        self._objects.write_all(
            ((names[shard], line) for shard, line in _unchanged(assigned_lines(assignment, lines))),
            first=dict.fromkeys(names.values(), header),
        )
        return Exported(folder=folder, extension=extension, sizes=sizes(assignment))


def _unchanged(lines: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from lines
    except ValueError as error:
        raise DataError(
            "The data changed during the export. Create the pipeline again.", code="ABORTED"
        ) from error


def _of_rows(table: contents.Table, split: Split) -> Assignment:
    if isinstance(split, splitting.ByFraction):
        return splitting.by_fraction(sum(1 for _ in table.rows()), split.shares)
    if isinstance(split, splitting.ByFilter):
        raise DataError("A table cannot be split by filters of items.")
    column = table.column(split.key)
    values = [row[column] for row in table.rows()]
    if isinstance(split, splitting.ByColumn):
        return splitting.by_column(values)
    if isinstance(split, splitting.ByTime):
        return splitting.by_time(values, split.shares)
    return splitting.by_category(values, split.shares)


def _of_items(items: Sequence[Item], split: Split) -> Assignment:
    if isinstance(split, splitting.ByFilter):
        return splitting.by_filter([item.labels for item in items], split)
    if isinstance(split, splitting.ByFraction):
        return splitting.by_fraction(len(items), split.shares)
    raise DataError("Only a table can be split by a column.")


def _check(assignment: Assignment, name: str) -> None:
    if 0 not in assignment:
        raise DataError(
            f"The training set is empty: it has none of the {len(assignment)} rows or items of the dataset "
            f"{name}. Change the split or the data.",
        )


def _member(value: object, *names: str) -> object:
    if not isinstance(value, Mapping):
        return None
    return next((value[name] for name in names if name in value), None)
