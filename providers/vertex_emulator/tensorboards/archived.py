"""Tensorboards and everything below them, in an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vertex_emulator.tensorboards.store import POINT, TensorboardStore
from vertex_emulator.vertex.nested import ArchivedNested, RestoredNested
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived, Document, as_json, read_message


def kinds(store: TensorboardStore) -> Sequence[Archived]:
    """Return the resources of all levels, from the top."""
    return [
        ArchivedNested(store.tensorboards),
        ArchivedNested(store.experiments),
        ArchivedNested(store.runs),
        _ArchivedSeries(store),
    ]


class _ArchivedSeries(ArchivedNested):
    """The time series, with their points."""

    def __init__(self, store: TensorboardStore) -> None:
        super().__init__(store.time_series)
        self._store = store

    def lines(self, record: Record) -> Iterable[Document]:
        return [{"point": as_json(each)} for each in self._store.points.read(record)]

    def restored(self, document: Document) -> _RestoredSeries:
        return _RestoredSeries(self._store, document)


class _RestoredSeries(RestoredNested):
    """A time series of an archive, with its points."""

    def __init__(self, store: TensorboardStore, document: Document) -> None:
        super().__init__(store.time_series, document)
        self._store = store

    def read_line(self, line: Document) -> Document:
        return {"point": as_json(read_message(POINT, line.get("point")))}

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        series = self._store.time_series.lookup(self.message.name)
        self._store.points.write(series, map(_point, lines))


def _point(line: Document) -> Any:
    return read_message(POINT, line["point"])
