"""MetadataService: metadata stores and schemas, and the relations between nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.services.metadata import checks, lineage
from vertex_emulator.services.metadata.nodes import ARTIFACT, CONTEXT, EXECUTION, Nodes
from vertex_emulator.services.metadata.store import EVENT, MetadataTables
from vertex_emulator.services.resource_engine import listing
from vertex_emulator.services.resource_engine.names import NESTED_IDS
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import Service

_MAX_PARENTS = 10


class _Stores(Resources):
    ids = NESTED_IDS

    def __init__(self, tables: MetadataTables, operations: ResourceOperations, clock: Clock) -> None:
        super().__init__(descriptors.METADATA_SERVICE, tables.stores, operations, clock)
        self._tables = tables

    def remove(self, record: Record) -> None:
        self._tables.remove_store(record)


class _Schemas(Resources):
    """The schemas that were created in a store, without those that every store has."""

    ids = NESTED_IDS
    listing = listing.Listing(
        fields={
            "name": listing.Field(value=lambda record: record.name),
            "schema_title": listing.Field(value=lambda record: checks.title_of(record.message)),
            "schema_version": listing.Field(value=lambda record: record.message.schema_version),
        },
    )

    def prepare(self, message: DynamicMessage, _: Record | None) -> None:
        message.schema_version = message.schema_version or checks.FIRST_VERSION

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterable[Violation]:
        return checks.schema_problems(message)

    def saved(self, record: Record) -> None:
        title, version = checks.title_of(record.message), record.message.schema_version
        for each in self.siblings(record):
            if (checks.title_of(each.message), each.message.schema_version) == (title, version):
                words = f"MetadataSchema {title!r} of version {version} already exists: {each.name}"
                raise RpcError("ALREADY_EXISTS", words)


class MetadataService(Service):
    """The metadata stores of one emulator."""

    def __init__(self, database: Database, operations: ResourceOperations, clock: Clock) -> None:
        self._clock = clock
        self.tables = MetadataTables(database, clock)
        self._stores = _Stores(self.tables, operations, clock)
        self._schemas = _Schemas(
            descriptors.METADATA_SERVICE, self.tables.schemas, operations, clock, parents=self.tables.stores
        )
        self._contexts, self._artifacts, self._executions = (
            Nodes(kind, self.tables, operations, clock) for kind in (CONTEXT, ARTIFACT, EXECUTION)
        )

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "AddContextArtifactsAndExecutions": self.add_members,
            "AddContextChildren": self.add_children,
            "RemoveContextChildren": self.remove_children,
            "AddExecutionEvents": self.add_events,
            "QueryContextLineageSubgraph": self.query_context,
            "QueryExecutionInputsAndOutputs": self.query_execution,
            "QueryArtifactLineageSubgraph": self.query_artifact,
        }
        return {
            **self._stores.methods(),
            **self._schemas.methods(),
            **self._contexts.methods(),
            **self._artifacts.methods(),
            **self._executions.methods(),
            **{f"{descriptors.METADATA_SERVICE}.{name}": method for name, method in methods.items()},
        }

    def remove_all(self) -> None:
        self.tables.clear()

    # Methods of the API

    def add_members(self, request: DynamicMessage) -> DynamicMessage:
        """Add artifacts and executions to a context: all of them, or none."""
        context = self.tables.contexts.lookup(request.context)
        members = [self._in_store(self.tables.artifacts, each, context) for each in request.artifacts]
        members += [self._in_store(self.tables.executions, each, context) for each in request.executions]
        with self.tables.contexts.transaction():
            for each in members:
                self.tables.relations.add_member(context.name, each.name)
        return descriptors.message(f"{V1}.AddContextArtifactsAndExecutionsResponse")

    def add_children(self, request: DynamicMessage) -> DynamicMessage:
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
        return descriptors.message(f"{V1}.AddContextChildrenResponse")

    def remove_children(self, request: DynamicMessage) -> DynamicMessage:
        """Undo AddContextChildren."""
        parent = self.tables.contexts.lookup(request.context)
        children = [self._in_store(self.tables.contexts, each, parent) for each in request.child_contexts]
        with self.tables.contexts.transaction():
            for child in children:
                self.tables.relations.remove_child(parent.name, child.name)
        return descriptors.message(f"{V1}.RemoveContextChildrenResponse")

    def add_events(self, request: DynamicMessage) -> DynamicMessage:
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
        return descriptors.message(f"{V1}.AddExecutionEventsResponse")

    def query_context(self, request: DynamicMessage) -> DynamicMessage:
        """Return the artifacts, executions and events of a context."""
        return lineage.of_context(self.tables, self.tables.contexts.lookup(request.context))

    def query_execution(self, request: DynamicMessage) -> DynamicMessage:
        """Return an execution with its inputs and outputs."""
        return lineage.of_execution(self.tables, self.tables.executions.lookup(request.execution))

    def query_artifact(self, request: DynamicMessage) -> DynamicMessage:
        """Return what an artifact was made from, and what was made from it."""
        artifact = self.tables.artifacts.lookup(request.artifact)
        if request.max_hops < 0:
            raise invalid_fields([Violation("max_hops", "It must not be negative.")])
        matches = self._artifacts.matcher(request.filter)
        return lineage.of_artifact(self.tables, artifact, hops=request.max_hops, matches=matches)

    def _in_store(self, records: Records, name: str, sibling: Record) -> Record:
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
