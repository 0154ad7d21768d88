"""The methods that contexts, artifacts and executions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Unary, Violation, invalid_fields
from vertex_emulator.services.metadata import checks, filters
from vertex_emulator.services.metadata.store import MetadataTables
from vertex_emulator.services.resource_engine import listing
from vertex_emulator.services.resource_engine.listing import Listing
from vertex_emulator.services.resource_engine.names import NESTED_IDS, name_of
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.resources import Resources

_SAMPLE = 100
_ORDERS = {
    "name": lambda record: record.name,
    "display_name": listing.ORDERS["display_name"],
    "schema_title": lambda record: record.message.schema_title,
    **listing.ORDERS,
}


@dataclass(frozen=True, kw_only=True)
class NodeKind:
    """A kind of node: its plural in methods, what can be updated, and its filters."""

    plural: str
    updatable: tuple[str, ...]
    filters: filters.Kind


CONTEXT = NodeKind(
    plural="Contexts",
    updatable=("display_name", "labels", "metadata", "description", "schema_title", "schema_version"),
    filters=filters.Kind(
        attributes=("name", "display_name", "schema_title", "create_time", "update_time"),
        relations=("parent_contexts", "child_contexts"),
    ),
)
ARTIFACT = NodeKind(
    plural="Artifacts",
    updatable=(*CONTEXT.updatable, "uri", "state"),
    filters=filters.Kind(attributes=(*CONTEXT.filters.attributes, "uri", "state"), relations=("in_context",)),
)
EXECUTION = NodeKind(
    plural="Executions",
    updatable=(*CONTEXT.updatable, "state"),
    filters=filters.Kind(attributes=(*CONTEXT.filters.attributes, "state"), relations=("in_context",)),
)


class Nodes(Resources):
    """The methods of one kind of node."""

    ids = NESTED_IDS
    listing = Listing(orders=_ORDERS)

    def __init__(
        self, kind: NodeKind, tables: MetadataTables, operations: ResourceOperations, clock: Clock
    ) -> None:
        self._kind = kind
        self._tables = tables
        self.updatable = kind.updatable
        self.listing = replace(self.listing, matcher=self.matcher)
        records: Records = getattr(tables, kind.plural.lower())
        super().__init__(descriptors.METADATA_SERVICE, records, operations, clock, parents=tables.stores)

    def methods(self) -> Mapping[str, Unary]:
        """Return the methods by full name."""
        purge = f"{descriptors.METADATA_SERVICE}.Purge{self._kind.plural}"
        return {**super().methods(), purge: self.purge}

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update fields of a node, or create it if it may be missing."""
        given = getattr(request, self.field)
        place, path = self.records.collection.parse(given.name)
        if not request.allow_missing or self.records.get(place, path) is not None:
            return super().update(request)
        store = self._tables.stores.lookup(given.name.rsplit("/", 2)[0])
        node_id = path.rpartition("/")[2]
        return self.shown(self.store(given, node_id, place, store, id_path=f"{self.field}.name"))

    def purge(self, request: DynamicMessage) -> DynamicMessage:
        """Delete the nodes that match a filter, or only count them without `force`."""
        store = self._tables.stores.lookup(request.parent)
        if not request.filter:
            raise invalid_fields([Violation("filter", "Required field is not set.")])
        found = list(filter(self.matcher(request.filter), self.records.below(store)))
        response = descriptors.message(f"{V1}.Purge{self._kind.plural}Response")
        response.purge_count = len(found)
        if request.force:
            self._tables.remove(self.records, found)
        else:
            response.purge_sample.extend(each.name for each in found[:_SAMPLE])
        metadata = descriptors.message(f"{V1}.Purge{self._kind.plural}Metadata")
        return self.operations.done(store.name, response, metadata)

    def prepare(self, message: DynamicMessage, parent: Record | None) -> None:
        if parent:
            checks.fill_in(message, parent, self._tables.schemas)

    def problems(self, message: DynamicMessage, parent: Record | None) -> Iterable[Violation]:
        return checks.problems(message, self.field, parent, self._tables.schemas) if parent else ()

    def shown(self, record: Record) -> DynamicMessage:
        if self._kind is CONTEXT:
            record.message.parent_contexts[:] = self._tables.relations.parents(record.name)
        return record.message

    def remove(self, record: Record) -> None:
        self._tables.remove(self.records, [record])

    def matcher(self, text: str) -> Callable[[Record], bool]:
        """Return the predicate of a filter."""
        return filters.predicate(text, self._kind.filters, self._related, self._canonical)

    def _canonical(self, name: str) -> str:
        place, path = self._tables.contexts.collection.parse(name)
        return name_of(place, self._tables.contexts.collection.id, path)

    def _related(self, relation: str, context: str) -> frozenset[str]:
        relations = self._tables.relations
        related = {
            "in_context": relations.members,
            "parent_contexts": relations.children,  # those that have it as a parent
            "child_contexts": relations.parents,
        }
        return frozenset(related[relation](context))
