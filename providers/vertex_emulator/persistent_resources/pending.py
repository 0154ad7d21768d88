"""What a persistent resource is on its way to: kept, so that a restarted emulator goes on with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place

Kind = Literal["create", "update", "reboot", "delete"]

_SCHEMA = (
    """
    CREATE TABLE persistent_resource_changes (
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        operation TEXT NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (project_number, location, id)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change: `operation` is the name of the operation that was answered; `due` is on the line of
    `Clock.seconds`."""

    place: Place
    id: str
    kind: Kind
    operation: str
    due: float


class Pending:
    """The changes under way, at most one of each resource. To be used under one lock."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        database.migrate("persistent resource changes", _SCHEMA)
        self._changes: dict[tuple[str, str, str], Change] = {}

    def load(self) -> None:
        """Take up what an earlier emulator left: each takes its whole time once more."""
        for row in self._database.rows("SELECT * FROM persistent_resource_changes ORDER BY rowid"):
            change = Change(
                place=Place(project=row["project"], location=row["location"]),
                id=row["id"],
                kind=row["kind"],
                operation=row["operation"],
                due=self._clock.seconds() + row["seconds"],
            )
            self._changes[_key(change.place, change.id)] = change

    def begin(self, place: Place, resource_id: str, kind: Kind, operation: str, *, seconds: float) -> None:
        """Note a change that takes so long; it takes the place of another one of the resource."""
        self._database.execute(
            "INSERT OR REPLACE INTO persistent_resource_changes VALUES (?, ?, ?, ?, ?, ?, ?)",
            (place.project, place.number, place.location, resource_id, kind, operation, seconds),
        )
        self._changes[_key(place, resource_id)] = Change(
            place=place,
            id=resource_id,
            kind=kind,
            operation=operation,
            due=self._clock.seconds() + seconds,
        )

    def of(self, place: Place, resource_id: str) -> Change | None:
        """The change of a resource."""
        return self._changes.get(_key(place, resource_id))

    def all(self) -> list[Change]:
        """All, the oldest first."""
        return list(self._changes.values())

    def end(self, change: Change) -> None:
        """A change is done."""
        key = _key(change.place, change.id)
        self._database.execute(
            "DELETE FROM persistent_resource_changes WHERE project_number = ? AND location = ? AND id = ?",
            key,
        )
        self._changes.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        self._database.execute("DELETE FROM persistent_resource_changes")
        self._changes.clear()


def _key(place: Place, resource_id: str) -> tuple[str, str, str]:
    return place.number, place.location, resource_id
