"""Metadata stores and everything in them, in an archive. Contexts and executions have relations as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vertex_emulator.metadata.store import EVENT, MetadataTables
from vertex_emulator.vertex.nested import ArchivedNested, NestedRecords, RestoredNested
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived, Document, as_json, read_message


def kinds(tables: MetadataTables) -> Sequence[Archived]:
    """Return the stores, and what is in them."""
    return [
        ArchivedNested(tables.stores),
        ArchivedNested(tables.schemas),
        ArchivedNested(tables.artifacts),
        _ArchivedWithRelations(tables.executions, tables),
        _ArchivedWithRelations(tables.contexts, tables),
    ]


class _ArchivedWithRelations(ArchivedNested):
    """Contexts with their members and children, or executions with their events."""

    def __init__(self, records: NestedRecords, tables: MetadataTables) -> None:
        super().__init__(records)
        self._tables = tables

    def lines(self, record: Record) -> Iterable[Document]:
        relations = self._tables.relations
        return [
            *({"child": each} for each in relations.children(record.name)),
            *({"member": each} for each in relations.members(record.name) if "/contexts/" in record.name),
            *({"event": as_json(each)} for each in relations.events(execution=record.name)),
        ]

    def restored(self, document: Document) -> _RestoredWithRelations:
        return _RestoredWithRelations(self.records, self._tables, document)


class _RestoredWithRelations(RestoredNested):
    """A context or an execution of an archive."""

    def __init__(self, records: NestedRecords, tables: MetadataTables, document: Document) -> None:
        super().__init__(records, document)
        self._tables = tables

    def read_line(self, line: Document) -> Document:
        is_context = self.nested is self._tables.contexts
        if is_context and isinstance(line.get("child"), str):
            self._tables.contexts.parse(line["child"])
            return {"child": line["child"]}
        if is_context and isinstance(line.get("member"), str):
            name = line["member"]
            (self._tables.artifacts if "/artifacts/" in name else self._tables.executions).parse(name)
            return {"member": name}
        event = read_message(EVENT, line.get("event"))
        self._tables.artifacts.parse(event.artifact)
        if is_context or event.execution != self.message.name:
            raise ValueError(f"{event.execution!r} is not the execution of the event")
        return {"event": as_json(event)}

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        relations = self._tables.relations
        for line in lines:
            if "child" in line:
                relations.add_child(self.message.name, line["child"])
            elif "member" in line:
                relations.add_member(self.message.name, line["member"])
            else:
                relations.add_event(read_message(EVENT, line["event"]))
