"""The tables of datasets and of their items. Datasets that are tables have no items."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.datasets.contents import ML_USE, DataError, Item
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

DATASET = f"{V1}.Dataset"
_ITEMS = (
    """
    CREATE TABLE dataset_items (
        number INTEGER PRIMARY KEY,
        dataset TEXT NOT NULL,
        digest TEXT NOT NULL,
        content TEXT NOT NULL,
        labels TEXT NOT NULL,
        UNIQUE (dataset, digest)
    );
    """,
)


class DatasetStore(Records):
    """The tables of datasets and items."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, Collection.of(DATASET), table="datasets")
        self._clock = clock
        database.migrate("dataset items", _ITEMS)

    def add_items(self, dataset: str, items: Iterable[Item]) -> None:
        """Add all items, or none. An existing item with the same content gets the new labels in addition.

        Raises `DataError` if the dataset was deleted.
        """
        with self.transaction():
            if self.change(dataset, lambda _: False) is None:
                raise DataError(f"The dataset {dataset} was deleted in the meantime.", code="NOT_FOUND")
            count = self._put(dataset, items)
            self.change(dataset, lambda message: self._counted(message, count))

    def _put(self, dataset: str, items: Iterable[Item]) -> int:
        """Insert or update items and return the number of items of the dataset."""
        with self.database.transaction() as connection:
            for item in items:
                content = _text(item.content)
                digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
                row = connection.execute(
                    "SELECT labels FROM dataset_items WHERE dataset = ? AND digest = ?", (dataset, digest)
                ).fetchone()
                labels = {**(json.loads(row["labels"]) if row else {}), **item.labels}
                connection.execute(
                    "INSERT INTO dataset_items (dataset, digest, content, labels) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (dataset, digest) DO UPDATE SET labels = excluded.labels",
                    (dataset, digest, content, _text(labels)),
                )
            count: int = connection.execute(
                "SELECT COUNT(*) FROM dataset_items WHERE dataset = ?", (dataset,)
            ).fetchone()[0]
            return count

    def items(self, dataset: str) -> list[Item]:
        """Return the items of a dataset in the order of their import."""
        rows = self.database.rows(
            "SELECT content, labels FROM dataset_items WHERE dataset = ? ORDER BY number", (dataset,)
        )
        return [Item(content=json.loads(row["content"]), labels=json.loads(row["labels"])) for row in rows]

    def assign(self, dataset: str, items: Sequence[Item], uses: Sequence[str | None]) -> None:
        """Store the sets of items as labels."""
        chosen = zip(items, uses, strict=True)
        self.add_items(
            dataset,
            (Item(content=item.content, labels={**item.labels, ML_USE: use}) for item, use in chosen if use),
        )

    def remove(self, record: Record) -> None:
        """Delete a dataset with its items."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM dataset_items WHERE dataset = ?", (record.id,))
            self.delete(record.id, place=record.place)

    def clear(self) -> None:
        """Delete all datasets and items."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM dataset_items")
            super().clear()

    def _counted(self, message: DynamicMessage, count: int) -> bool:
        message.data_item_count = count
        message.update_time.FromJsonString(now(self._clock))
        return True


def _text(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
