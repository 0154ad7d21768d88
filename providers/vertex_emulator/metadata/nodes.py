"""The methods that contexts, artifacts and executions have in common."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.metadata import checks, filters
from vertex_emulator.metadata.store import MetadataTables
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.vertex import listing, nested
from vertex_emulator.vertex.listing import Listing
from vertex_emulator.vertex.names import name_of, new_id
from vertex_emulator.vertex.nested import NestedRecords
from vertex_emulator.vertex.operations import V1, ResourceOperations
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.versions import Stamps

_SAMPLE = 100
_ORDERS = {
    "name": lambda record: record.name,
    "display_name": lambda record: record.message.display_name,
    "schema_title": lambda record: record.message.schema_title,
    "create_time": lambda record: record.created,
    "update_time": lambda record: record.message.update_time.ToMicroseconds(),
}


@dataclass(frozen=True, kw_only=True)
class NodeKind:
    """A kind of node: the field of its requests, its plural in methods, and what can be updated."""

    field: str
    plural: str
    updatable: tuple[str, ...]
    filters: filters.Kind


CONTEXT = NodeKind(
    field="context",
    plural="Contexts",
    updatable=("display_name", "labels", "metadata", "description", "schema_title", "schema_version"),
    filters=filters.Kind(
        attributes=("name", "display_name", "schema_title", "create_time", "update_time"),
        relations=("parent_contexts", "child_contexts"),
    ),
)
ARTIFACT = NodeKind(
    field="artifact",
    plural="Artifacts",
    updatable=(*CONTEXT.updatable, "uri", "state"),
    filters=filters.Kind(attributes=(*CONTEXT.filters.attributes, "uri", "state"), relations=("in_context",)),
)
EXECUTION = NodeKind(
    field="execution",
    plural="Executions",
    updatable=(*CONTEXT.updatable, "state"),
    filters=filters.Kind(attributes=(*CONTEXT.filters.attributes, "state"), relations=("in_context",)),
)


class NodeMethods:
    """The methods of one kind of node."""

    def __init__(
        self,
        kind: NodeKind,
        records: NestedRecords,
        tables: MetadataTables,
        operations: ResourceOperations,
        stamps: Stamps,
    ) -> None:
        self._kind = kind
        self._records = records
        self._tables = tables
        self._operations = operations
        self._stamps = stamps

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their short names."""
        noun, plural = self._records.collection.noun, self._kind.plural
        return {
            f"Create{noun}": self.create,
            f"Get{noun}": self.get,
            f"List{plural}": self.list_nodes,
            f"Update{noun}": self.update,
            f"Delete{noun}": self.delete,
            f"Purge{plural}": self.purge,
        }

    def create(self, request: Any) -> Message:
        """Create a node in a metadata store."""
        store = self._tables.stores.lookup(request.parent)
        given_id = getattr(request, f"{self._kind.field}_id")
        if given_id:
            nested.check_id(given_id, f"{self._kind.field}_id")
        return self._insert(store, given_id or new_id(), getattr(request, self._kind.field))

    def get(self, request: Any) -> Message:
        """Return a node."""
        return self.shown(self._records.lookup(request.name))

    def list_nodes(self, request: Any) -> Message:
        """List the nodes of a metadata store."""
        store = self._tables.stores.lookup(request.parent)
        asked = Listing(
            answer=f"{V1}.List{self._kind.plural}Response",
            items=f"{self._kind.field}s",
            orders=_ORDERS,
            shown=self.shown,
            matcher=self.matcher,
        )
        return listing.list_records(self._records.below(store), request, asked, place=store.place)

    def update(self, request: Any) -> Message:
        """Update fields of a node, or create it if it may be missing."""
        given = getattr(request, self._kind.field)
        place, path = self._records.parse(given.name)
        record = self._records.get(place, path)
        store = self._tables.stores.lookup(given.name.rpartition("/")[0].rpartition("/")[0])
        if record is None:
            if not request.allow_missing:
                raise self._records.missing(given.name)
            node_id = path.rpartition("/")[2]
            nested.check_id(node_id, f"{self._kind.field}.name")
            return self._insert(store, node_id, given)

        def change(message: Any) -> bool:
            self._stamps.check(message, given.etag, self._records.collection.noun)
            nested.overwrite(message, given, request.update_mask.paths, self._kind.updatable)
            checks.prepare(message, self._kind.field, store, self._tables.schemas)
            self._stamps.touch(message)
            return True

        changed = self._records.change(path, change, place=place)
        return self.shown(changed or record)

    def delete(self, request: Any) -> Message:
        """Delete a node with its relations."""
        record = self._records.lookup(request.name)
        noun = self._records.collection.noun
        self._stamps.check(record.message, request.etag, noun, code="FAILED_PRECONDITION")
        self._tables.remove(self._records, [record])
        return self._operations.deleted(record.place)

    def purge(self, request: Any) -> Message:
        """Delete the nodes that match a filter, or only count them without `force`."""
        store = self._tables.stores.lookup(request.parent)
        if not request.filter:
            raise invalid_fields([Violation("filter", "Required field is not set.")])
        matches = self.matcher(request.filter)
        found = [each for each in self._records.below(store).newest_first(store.place) if matches(each)]
        response = descriptors.message(f"{V1}.Purge{self._kind.plural}Response")
        response.purge_count = len(found)
        if request.force:
            self._tables.remove(self._records, found)
        else:
            response.purge_sample.extend(each.name for each in found[:_SAMPLE])
        metadata = descriptors.message(f"{V1}.Purge{self._kind.plural}Metadata")
        return self._operations.done(store.name, response, metadata)

    def shown(self, record: Record) -> Message:
        """Return the message of a node in answers."""
        if self._kind is CONTEXT:
            record.message.parent_contexts[:] = self._tables.relations.parents(record.name)
        found: Message = record.message
        return found

    def matcher(self, text: str) -> Callable[[Record], bool]:
        """Return the predicate of a filter."""
        return filters.predicate(text, self._kind.filters, self._related, self._canonical)

    def _insert(self, store: Record, node_id: str, given: Any) -> Message:
        made = descriptors.message(self._records.collection.message)
        made.CopyFrom(given)
        for field in checks.OUTPUT:
            made.ClearField(field)
        if self._kind is CONTEXT:
            made.ClearField("parent_contexts")
        checks.prepare(made, self._kind.field, store, self._tables.schemas)
        path = self._records.child(store, node_id)
        made.name = name_of(store.place, self._records.collection.id, path)
        self._stamps.begin(made)
        try:
            self._records.insert(store.place, path, made)
        except sqlite3.IntegrityError:
            noun = self._records.collection.noun
            raise RpcError("ALREADY_EXISTS", f"{noun} with name {made.name} already exists") from None
        found: Message = made
        return found

    def _canonical(self, name: str) -> str:
        place, path = self._tables.contexts.parse(name)
        return name_of(place, self._tables.contexts.collection.id, path)

    def _related(self, relation: str, context: str) -> frozenset[str]:
        relations = self._tables.relations
        related = {
            "in_context": relations.members,
            "parent_contexts": relations.children,  # those that have it as a parent
            "child_contexts": relations.parents,
        }
        return frozenset(related[relation](context))
