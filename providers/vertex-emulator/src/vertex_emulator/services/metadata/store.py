"""The tables of metadata stores: their resources, and the relations between these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

STORE = f"{V1}.MetadataStore"
EVENT = f"{V1}.Event"

_RELATIONS = (
    """
    CREATE TABLE metadata_children (
        parent TEXT NOT NULL,
        child TEXT NOT NULL,
        PRIMARY KEY (parent, child)
    ) WITHOUT ROWID;
    CREATE INDEX metadata_children_by_child ON metadata_children (child);
    CREATE TABLE metadata_members (
        context TEXT NOT NULL,
        member TEXT NOT NULL,
        PRIMARY KEY (context, member)
    ) WITHOUT ROWID;
    CREATE INDEX metadata_members_by_member ON metadata_members (member);
    CREATE TABLE metadata_events (
        execution TEXT NOT NULL,
        artifact TEXT NOT NULL,
        type INTEGER NOT NULL,
        event BLOB NOT NULL,
        PRIMARY KEY (execution, artifact, type)
    ) WITHOUT ROWID;
    CREATE INDEX metadata_events_by_artifact ON metadata_events (artifact);
    """,
)


_KINDS = {
    "contexts": "Context",
    "artifacts": "Artifact",
    "executions": "Execution",
    "schemas": "MetadataSchema",
}
"""The kinds of what is in a store."""


class Relations:
    """The relations between resources, by name: children, members of contexts, and events."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._event = type(descriptors.message(EVENT))
        database.migrate("metadata relations", _RELATIONS)

    def add_child(self, parent: str, child: str) -> None:
        """Make a context a child of another one."""
        self._database.execute(
            "INSERT OR IGNORE INTO metadata_children (parent, child) VALUES (?, ?)", (parent, child)
        )

    def remove_child(self, parent: str, child: str) -> None:
        """Undo `add_child`."""
        self._database.execute(
            "DELETE FROM metadata_children WHERE parent = ? AND child = ?", (parent, child)
        )

    def parents(self, child: str) -> list[str]:
        """Return the names of the parents of a context."""
        rows = self._database.own_rows(
            "SELECT parent FROM metadata_children WHERE child = ? ORDER BY parent", (child,)
        )
        return [row["parent"] for row in rows]

    def children(self, parent: str) -> list[str]:
        """Return the names of the children of a context."""
        rows = self._database.own_rows(
            "SELECT child FROM metadata_children WHERE parent = ? ORDER BY child", (parent,)
        )
        return [row["child"] for row in rows]

    def add_member(self, context: str, member: str) -> None:
        """Add an artifact or an execution to a context."""
        self._database.execute(
            "INSERT OR IGNORE INTO metadata_members (context, member) VALUES (?, ?)", (context, member)
        )

    def members(self, context: str) -> list[str]:
        """Return the names of the artifacts and executions of a context."""
        rows = self._database.own_rows(
            "SELECT member FROM metadata_members WHERE context = ? ORDER BY member", (context,)
        )
        return [row["member"] for row in rows]

    def add_event(self, event: DynamicMessage) -> None:
        """Add an event, which connects an execution and an artifact."""
        self._database.execute(
            "INSERT OR REPLACE INTO metadata_events (execution, artifact, type, event) VALUES (?, ?, ?, ?)",
            (event.execution, event.artifact, event.type, event.SerializeToString()),
        )

    def events(self, *, execution: str | None = None, artifact: str | None = None) -> list[DynamicMessage]:
        """Return the events of an execution or of an artifact."""
        rows = self._database.own_rows(
            "SELECT event FROM metadata_events WHERE execution = ? OR artifact = ? "
            "ORDER BY execution, artifact, type",
            (execution, artifact),
        )
        return [self._event.FromString(row["event"]) for row in rows]

    def forget(self, name: str) -> None:
        """Remove all relations of a resource."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM metadata_children WHERE parent = ? OR child = ?", (name, name))
            connection.execute("DELETE FROM metadata_members WHERE context = ? OR member = ?", (name, name))
            connection.execute(
                "DELETE FROM metadata_events WHERE execution = ? OR artifact = ?", (name, name)
            )

    def clear(self) -> None:
        """Remove all relations."""
        with self._database.transaction() as connection:
            for table in ("metadata_children", "metadata_members", "metadata_events"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours


class MetadataTables:
    """All metadata stores of one emulator, with everything in them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        taken = "{noun} with name {name} already exists"
        stores = Collection.of(STORE, taken=taken)
        self.stores = Records(database, clock, stores, table="metadata_stores")
        self.contexts, self.artifacts, self.executions, self.schemas = (
            Records(
                database,
                clock,
                Collection.of(
                    f"{V1}.{noun}",
                    taken=taken,
                    absent=f"Resource not found.; Get{noun} is unable to find {noun.lower()} resource with "
                    "name: {name}",
                ),
                table=f"metadata_{plural}",
            )
            for plural, noun in _KINDS.items()
        )
        self.relations = Relations(database)

    @property
    def nodes(self) -> Sequence[Records]:
        """The tables of what is in the stores."""
        return self.contexts, self.artifacts, self.executions, self.schemas

    def remove(self, records: Records, found: Iterable[Record]) -> None:
        """Delete resources with their relations."""
        with records.transaction():
            for each in found:
                self.relations.forget(each.name)
                records.delete(each.id, place=each.place)

    def remove_store(self, store: Record) -> None:
        """Delete a store with everything in it."""
        with self.stores.transaction():
            for each in self.nodes:
                self.remove(each, list(each.below(store)))
            self.stores.delete(store.id, place=store.place)

    def clear(self) -> None:
        """Delete everything."""
        with self.stores.transaction():
            self.relations.clear()
            for each in (self.stores, *self.nodes):
                each.clear()
