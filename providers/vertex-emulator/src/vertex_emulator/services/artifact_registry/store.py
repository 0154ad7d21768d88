"""The tables of repositories, IAM policies, annotations and project settings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf import json_format

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.artifact_registry.names import RepositoryName
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE

_SCHEMA = (
    """
    CREATE TABLE artifact_repositories (
        key TEXT PRIMARY KEY,
        number TEXT NOT NULL,
        project TEXT NOT NULL,
        location TEXT NOT NULL,
        id TEXT NOT NULL,
        repository TEXT NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        cleanup_at INTEGER
    );
    CREATE INDEX artifact_repositories_by_place ON artifact_repositories (number, location, id);
    CREATE INDEX artifact_repositories_by_path ON artifact_repositories (project, id);
    CREATE TABLE artifact_iam_policies (
        key TEXT PRIMARY KEY REFERENCES artifact_repositories ON DELETE CASCADE,
        policy TEXT NOT NULL
    );
    CREATE TABLE artifact_annotations (
        key TEXT NOT NULL REFERENCES artifact_repositories ON DELETE CASCADE,
        item TEXT NOT NULL,
        annotations TEXT NOT NULL,
        PRIMARY KEY (key, item)
    );
    CREATE TABLE artifact_settings (
        name TEXT PRIMARY KEY,
        message TEXT NOT NULL
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A stored repository. Its name has the project that it was created with. Times are in microseconds.

    `cleanup_at` is the time of the next cleanup, or None without cleanup policies.
    """

    name: RepositoryName
    repository: DynamicMessage
    created: int
    updated: int
    cleanup_at: int | None = None


class Store:
    """The Artifact Registry tables. Every method is a transaction, or joins the caller's."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("artifacts", _SCHEMA)

    def get(self, name: RepositoryName) -> Record | None:
        """Return a repository by name, with the project's ID or number."""
        row = self._database.row("SELECT * FROM artifact_repositories WHERE key = ?", (name.key,))
        return None if row is None else _record(row)

    def at(self, place: Place) -> list[Record]:
        """Return the repositories of a location."""
        rows = self._database.rows(
            "SELECT * FROM artifact_repositories WHERE number = ? AND location = ? ORDER BY id",
            (place.number, place.location),
        )
        return [_record(row) for row in rows]

    def with_path(self, project: str, identifier: str) -> list[Record]:
        """Return the repositories of that name in any location, sorted by location."""
        rows = self._database.rows(
            "SELECT * FROM artifact_repositories WHERE project = ? AND id = ? ORDER BY location",
            (project, identifier),
        )
        return [_record(row) for row in rows]

    def add(self, record: Record) -> bool:
        """Add a repository. Return False if one of this name exists."""
        name = record.name
        values = (name.key, name.place.number, name.place.project, name.place.location, name.id)
        added = self._database.execute(
            "INSERT INTO artifact_repositories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (*values, _text(record.repository), record.created, record.updated, record.cleanup_at),
        )
        return bool(added)

    def replace(self, record: Record) -> None:
        self._database.execute(
            "UPDATE artifact_repositories SET repository = ?, updated = ?, cleanup_at = ? WHERE key = ?",
            (_text(record.repository), record.updated, record.cleanup_at, record.name.key),
        )

    def delete(self, name: RepositoryName) -> bool:
        """Delete a repository with its IAM policy and annotations. Return whether it existed."""
        cursor = self._database.execute("DELETE FROM artifact_repositories WHERE key = ?", (name.key,))
        return bool(cursor)

    def clear(self) -> None:
        """Delete all repositories and settings."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM artifact_repositories")
            connection.execute("DELETE FROM artifact_settings")

    # Cleanup

    def due(self, now: int) -> list[Record]:
        """Return the repositories whose cleanup is due."""
        rows = self._database.rows(
            "SELECT * FROM artifact_repositories WHERE cleanup_at <= ? ORDER BY cleanup_at", (now,)
        )
        return [_record(row) for row in rows]

    def next_due(self) -> int | None:
        row = self._database.row("SELECT min(cleanup_at) AS at FROM artifact_repositories")
        return None if row is None else row["at"]

    def set_cleanup_at(self, name: RepositoryName, at: int) -> None:
        self._database.execute(
            "UPDATE artifact_repositories SET cleanup_at = ? WHERE key = ? AND cleanup_at IS NOT NULL",
            (at, name.key),
        )

    def move_cleanups(self, by: int) -> None:
        """Delay all cleanups by that many microseconds."""
        self._database.execute("UPDATE artifact_repositories SET cleanup_at = cleanup_at + ?", (by,))

    # IAM policies

    def iam_policy(self, name: RepositoryName) -> DynamicMessage:
        """Return the IAM policy of a repository, or an empty policy if none was set."""
        row = self._database.row("SELECT policy FROM artifact_iam_policies WHERE key = ?", (name.key,))
        return _message("google.iam.v1.Policy", row["policy"] if row else "{}")

    def set_iam_policy(self, name: RepositoryName, policy: DynamicMessage) -> None:
        self._database.execute(
            "INSERT INTO artifact_iam_policies VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET policy = excluded.policy",
            (name.key, _text(policy)),
        )

    # Annotations

    def annotations(self, name: RepositoryName) -> Mapping[str, Mapping[str, str]]:
        """Return the annotations of a repository by item, such as "packages/P/versions/V"."""
        rows = self._database.rows(
            "SELECT item, annotations FROM artifact_annotations WHERE key = ?", (name.key,)
        )
        return {row["item"]: json.loads(row["annotations"]) for row in rows}

    def set_annotations(self, name: RepositoryName, item: str, annotations: Mapping[str, str]) -> None:
        self._database.execute(
            "INSERT INTO artifact_annotations VALUES (?, ?, ?) "
            "ON CONFLICT (key, item) DO UPDATE SET annotations = excluded.annotations",
            (name.key, item, json.dumps(dict(annotations))),
        )

    def drop_annotations(self, name: RepositoryName, item: str) -> None:
        """Delete the annotations of a deleted item and of all items below it."""
        self._database.execute(
            "DELETE FROM artifact_annotations WHERE key = ? AND (item = ? OR substr(item, 1, ?) = ?)",
            (name.key, item, len(item) + 1, f"{item}/"),
        )

    # Settings of projects

    def setting(self, name: str, kind: str) -> DynamicMessage:
        """Return the settings message of that name and type, or an empty one if none was set."""
        row = self._database.row("SELECT message FROM artifact_settings WHERE name = ?", (name,))
        return _message(kind, row["message"] if row else "{}")

    def set_setting(self, name: str, message: DynamicMessage) -> None:
        self._database.execute(
            "INSERT INTO artifact_settings VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET message = excluded.message",
            (name, _text(message)),
        )


def _record(row: sqlite3.Row) -> Record:
    place = Place(project=row["project"], location=row["location"])
    return Record(
        name=RepositoryName(place=place, id=row["id"]),
        repository=_message(f"{PACKAGE}.Repository", row["repository"]),
        created=row["created"],
        updated=row["updated"],
        cleanup_at=row["cleanup_at"],
    )


def _text(message: DynamicMessage) -> str:
    return json_format.MessageToJson(message, descriptor_pool=descriptors.pool(), indent=None)


def _message(kind: str, text: str) -> DynamicMessage:
    return json_format.Parse(text, descriptors.message(kind), descriptor_pool=descriptors.pool())
