"""Models in an archive of the emulator's state: a line for each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vertex_emulator.models import uploading, versions
from vertex_emulator.models.store import MODEL, ModelStore
from vertex_emulator.vertex.kept import Document, KeptRecords, RestoredRecord, as_json, read_message
from vertex_emulator.vertex.records import Record

_MOST = 2**31


class KeptModels(KeptRecords):
    """All models."""

    def __init__(self, store: ModelStore) -> None:
        super().__init__(store)
        self._store = store

    def lines(self, record: Record) -> Iterable[Document]:
        return [{"version": as_json(each.message)} for each in self._store.whole(record).versions.values()]

    def restored(self, document: Document) -> RestoredModel:
        return RestoredModel(self._store, document)


class RestoredModel(RestoredRecord):
    """One model with its versions."""

    has_name = False
    ids_everywhere = False

    def __init__(self, store: ModelStore, document: Document) -> None:
        super().__init__(store, document)
        self._store = store
        self._greatest = _number(self.message)
        self._last = 0
        self._aliases: set[str] = set()

    def is_id(self, text: str) -> bool:
        return versions.is_id(text) or super().is_id(text)

    def take(self, line: Document) -> Document:
        version = read_message(MODEL, line.get("version"))
        number = _number(version)
        if not self._last < number <= self._greatest:
            raise ValueError(f"version {number} is not one between {self._last + 1} and {self._greatest}")
        self._last = number
        if version.name or not version.HasField("create_time") or not version.HasField("version_create_time"):
            raise ValueError(f"version {number} has a name, or no time")
        if again := self._aliases.intersection(version.version_aliases):
            raise ValueError(f"version {number} has the alias {min(again)!r} of another one")
        self._aliases.update(version.version_aliases)
        self._check_as_sent(version)
        return {"version": as_json(version)}

    def check(self) -> None:
        if versions.DEFAULT not in self._aliases:
            raise ValueError("no version of the model is the default one")

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        for line in lines:
            version = read_message(MODEL, line["version"])
            self._store.versions.insert(self.place, f"{self.id}@{version.version_id}", version)

    def _check_as_sent(self, version: Any) -> None:
        """Whether it could have been uploaded like this. Raises `RpcError`."""
        whole = read_message(MODEL, {})
        whole.CopyFrom(version)
        whole.display_name = self.message.display_name
        uploading.check(whole, path="version")
        whole.ClearField("labels")
        whole.labels.update(self.message.labels)
        uploading.check(whole, path="resource")


def _number(model: Any) -> int:
    text: str = model.version_id
    if not (text.isascii() and text.isdigit() and len(text) < 11 and text == str(int(text))):
        raise ValueError(f"{text!r} is not the number of a version")
    if not 0 < int(text) < _MOST:
        raise ValueError(f"{text} is not possible as the number of a version")
    return int(text)
