"""MetadataService: metadata stores and schemas, and the relations between nodes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.metadata import archived, checks, lineage
from vertex_emulator.metadata.nodes import ARTIFACT, CONTEXT, EXECUTION, NodeMethods
from vertex_emulator.metadata.store import EVENT, STORE, MetadataTables
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.vertex import listing, nested
from vertex_emulator.vertex.listing import Listing
from vertex_emulator.vertex.names import name_of, new_id, parse_parent
from vertex_emulator.vertex.nested import NestedRecords
from vertex_emulator.vertex.operations import V1, ResourceOperations
from vertex_emulator.vertex.records import Record
from vertex_emulator.vertex.service import Archived, Service
from vertex_emulator.vertex.versions import Stamps

_MAX_PARENTS = 10
_STORES = Listing(answer=f"{V1}.ListMetadataStoresResponse", items="metadata_stores")
_SCHEMAS = Listing(
    answer=f"{V1}.ListMetadataSchemasResponse",
    items="metadata_schemas",
    fields={
        "name": listing.Field(value=lambda record: record.name),
        "schema_title": listing.Field(value=lambda record: checks.title_of(record.message)),
        "schema_version": listing.Field(value=lambda record: record.message.schema_version),
    },
)


class MetadataService(Service):
    """The metadata stores of one emulator."""

    def __init__(self, database: Database, operations: ResourceOperations, clock: Clock) -> None:
        self._operations = operations
        self._clock = clock
        self.tables = MetadataTables(database, clock)
        stamps = Stamps(clock)
        self.contexts, self.artifacts, self.executions = (
            NodeMethods(kind, records, self.tables, operations, stamps)
            for kind, records in (
                (CONTEXT, self.tables.contexts),
                (ARTIFACT, self.tables.artifacts),
                (EXECUTION, self.tables.executions),
            )
        )

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "CreateMetadataStore": self.create_store,
            "GetMetadataStore": self.get_store,
            "ListMetadataStores": self.list_stores,
            "DeleteMetadataStore": self.delete_store,
            **self.contexts.bindings(),
            **self.artifacts.bindings(),
            **self.executions.bindings(),
            "AddContextArtifactsAndExecutions": self.add_members,
            "AddContextChildren": self.add_children,
            "RemoveContextChildren": self.remove_children,
            "AddExecutionEvents": self.add_events,
            "QueryContextLineageSubgraph": self.query_context,
            "QueryExecutionInputsAndOutputs": self.query_execution,
            "QueryArtifactLineageSubgraph": self.query_artifact,
            "CreateMetadataSchema": self.create_schema,
            "GetMetadataSchema": self.get_schema,
            "ListMetadataSchemas": self.list_schemas,
        }
        return {f"{descriptors.METADATA_SERVICE}.{name}": method for name, method in methods.items()}

    def archived(self) -> Sequence[Archived]:
        """Return the stores, and everything in them with its relations."""
        return archived.kinds(self.tables)

    def remove_all(self) -> None:
        self.tables.clear()

    # Stores

    def create_store(self, request: Any) -> Message:
        """Create a metadata store. It exists when the method returns."""
        place = parse_parent(request.parent)
        store_id = request.metadata_store_id or new_id()
        nested.check_id(store_id, "metadata_store_id")
        made = descriptors.message(STORE)
        made.CopyFrom(request.metadata_store)
        made.ClearField("state")
        made.name = name_of(place, "metadataStores", store_id)
        for moment in (made.create_time, made.update_time):
            moment.FromJsonString(times.now(self._clock))
        try:
            self.tables.stores.insert(place, store_id, made)
        except sqlite3.IntegrityError:
            raise RpcError("ALREADY_EXISTS", f"MetadataStore with name {made.name} already exists") from None
        metadata = descriptors.message(f"{V1}.CreateMetadataStoreOperationMetadata")
        return self._operations.done(made.name, made, metadata)

    def get_store(self, request: Any) -> Message:
        """Return a metadata store."""
        found: Message = self.tables.stores.lookup(request.name).message
        return found

    def list_stores(self, request: Any) -> Message:
        """List the metadata stores of a location."""
        return listing.list_records(self.tables.stores, request, _STORES)

    def delete_store(self, request: Any) -> Message:
        """Delete a metadata store with everything in it."""
        record = self.tables.stores.lookup(request.name)
        self.tables.remove_store(record)
        empty = descriptors.message("google.protobuf.Empty")
        metadata = descriptors.message(f"{V1}.DeleteMetadataStoreOperationMetadata")
        return self._operations.done(str(record.place), empty, metadata)

    # Relations

    def add_members(self, request: Any) -> Message:
        """Add artifacts and executions to a context: all of them, or none."""
        context = self.tables.contexts.lookup(request.context)
        members = [self._in_store(self.tables.artifacts, each, context) for each in request.artifacts]
        members += [self._in_store(self.tables.executions, each, context) for each in request.executions]
        with self.tables.contexts.transaction():
            for each in members:
                self.tables.relations.add_member(context.name, each.name)
        return _empty("AddContextArtifactsAndExecutionsResponse")

    def add_children(self, request: Any) -> Message:
        """Make contexts children of another one: all of them, or none."""
        parent = self.tables.contexts.lookup(request.context)
        children = [self._in_store(self.tables.contexts, each, parent) for each in request.child_contexts]
        relations = self.tables.relations
        with self.tables.contexts.transaction():
            for child in children:
                if child.name in self._ancestors(parent.name):
                    words = f"The context {child.name} is the context itself, or above it."
                    raise invalid_fields([Violation("child_contexts", words)])
                parents = {*relations.parents(child.name), parent.name}
                if len(parents) > _MAX_PARENTS:
                    words = f"The context {child.name} has {_MAX_PARENTS} parent contexts, the most allowed."
                    raise RpcError("FAILED_PRECONDITION", words)
                relations.add_child(parent.name, child.name)
        return _empty("AddContextChildrenResponse")

    def remove_children(self, request: Any) -> Message:
        """Undo AddContextChildren."""
        parent = self.tables.contexts.lookup(request.context)
        children = [self._in_store(self.tables.contexts, each, parent) for each in request.child_contexts]
        with self.tables.contexts.transaction():
            for child in children:
                self.tables.relations.remove_child(parent.name, child.name)
        return _empty("RemoveContextChildrenResponse")

    def add_events(self, request: Any) -> Message:
        """Connect an execution with its inputs and outputs: with all of them, or none."""
        execution = self.tables.executions.lookup(request.execution)
        with self.tables.executions.transaction():
            for number, given in enumerate(request.events):
                if not given.type:
                    words = "Required field is not set."
                    raise invalid_fields([Violation(f"events[{number}].type", words)])
                event = descriptors.message(EVENT)
                event.CopyFrom(given)
                event.artifact = self._in_store(self.tables.artifacts, given.artifact, execution).name
                event.execution = execution.name
                event.event_time.FromJsonString(times.now(self._clock))
                self.tables.relations.add_event(event)
        return _empty("AddExecutionEventsResponse")

    def query_context(self, request: Any) -> Message:
        """Return the artifacts, executions and events of a context."""
        found: Message = lineage.of_context(self.tables, self.tables.contexts.lookup(request.context))
        return found

    def query_execution(self, request: Any) -> Message:
        """Return an execution with its inputs and outputs."""
        found: Message = lineage.of_execution(self.tables, self.tables.executions.lookup(request.execution))
        return found

    def query_artifact(self, request: Any) -> Message:
        """Return what an artifact was made from, and what was made from it."""
        artifact = self.tables.artifacts.lookup(request.artifact)
        if request.max_hops < 0:
            raise invalid_fields([Violation("max_hops", "It must not be negative.")])
        matches = self.artifacts.matcher(request.filter)
        found: Message = lineage.of_artifact(self.tables, artifact, hops=request.max_hops, matches=matches)
        return found

    def _in_store(self, records: NestedRecords, name: str, sibling: Record) -> Record:
        """Return the resource of a name, which must be in the store of another resource."""
        found = records.lookup(name)
        store = found.id.partition("/")[0]
        if found.place.number != sibling.place.number or not sibling.id.startswith(f"{store}/"):
            raise RpcError("INVALID_ARGUMENT", f"{name} is in another metadata store than {sibling.name}.")
        return found

    def _ancestors(self, context: str) -> set[str]:
        """Return a context with all contexts above it."""
        found, edge = {context}, {context}
        while edge:
            edge = {each for name in edge for each in self.tables.relations.parents(name)} - found
            found |= edge
        return found

    # Schemas

    def create_schema(self, request: Any) -> Message:
        """Create a schema, which nodes of the store can name."""
        store = self.tables.stores.lookup(request.parent)
        schema_id = request.metadata_schema_id or new_id()
        nested.check_id(schema_id, "metadata_schema_id")
        made = descriptors.message(f"{V1}.MetadataSchema")
        made.CopyFrom(request.metadata_schema)
        title = checks.check_schema(made)
        made.schema_version = made.schema_version or "0.0.1"
        path = self.tables.schemas.child(store, schema_id)
        made.name = name_of(store.place, "metadataStores", path)
        made.create_time.FromJsonString(times.now(self._clock))
        with self.tables.schemas.transaction():
            for each in self.tables.schemas.below(store).newest_first(store.place):
                same = (checks.title_of(each.message), each.message.schema_version)
                if same == (title, made.schema_version):
                    words = f"MetadataSchema {title!r} of version {made.schema_version} already exists"
                    raise RpcError("ALREADY_EXISTS", f"{words}: {each.name}")
            try:
                self.tables.schemas.insert(store.place, path, made)
            except sqlite3.IntegrityError:
                words = f"MetadataSchema with name {made.name} already exists"
                raise RpcError("ALREADY_EXISTS", words) from None
        found: Message = made
        return found

    def get_schema(self, request: Any) -> Message:
        """Return a schema."""
        found: Message = self.tables.schemas.lookup(request.name).message
        return found

    def list_schemas(self, request: Any) -> Message:
        """List the schemas that were created in a store, without those that every store has."""
        store = self.tables.stores.lookup(request.parent)
        below = self.tables.schemas.below(store)
        return listing.list_records(below, request, _SCHEMAS, place=store.place)


def _empty(name: str) -> Message:
    found: Message = descriptors.message(f"{V1}.{name}")
    return found
