"""Datasets in an archive of the emulator's state: a line for each item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vertex_emulator.datasets.checks import faults
from vertex_emulator.datasets.items import Item
from vertex_emulator.datasets.store import DatasetStore
from vertex_emulator.rpc.methods import invalid_fields
from vertex_emulator.vertex.kept import Document, KeptRecords, RestoredRecord
from vertex_emulator.vertex.records import Record


class KeptDatasets(KeptRecords):
    """All datasets."""

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
    """One dataset with its items."""

    def __init__(self, store: DatasetStore, document: Document) -> None:
        super().__init__(store, document)
        self._store = store
        if found := list(faults(self.message)):
            raise invalid_fields(found)

    def take(self, line: Document) -> Document:
        content, labels = line.get("content"), line.get("labels")
        if not isinstance(content, dict) or not content:
            raise ValueError("the content of an item has to be an object")
        if not isinstance(labels, dict) or not all(isinstance(each, str) for each in labels.values()):
            raise ValueError("the labels of an item have to be texts")
        return {"content": content, "labels": labels}

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        items = (Item(content=line["content"], labels=line["labels"]) for line in lines)
        self._store.restore_items(self.id, items)
