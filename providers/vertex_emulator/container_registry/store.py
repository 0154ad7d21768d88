"""The registry's tables. Times are microseconds since 1970 by the emulator's clock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from vertex_emulator.container_registry.manifests import Manifest
from vertex_emulator.kernel.database import Database

_TABLES = """
CREATE TABLE registry_blobs (digest TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE registry_links (
    repository TEXT NOT NULL, digest TEXT NOT NULL, touched INTEGER NOT NULL, PRIMARY KEY (repository, digest)
) WITHOUT ROWID;
CREATE INDEX registry_links_by_digest ON registry_links (digest);
CREATE TABLE registry_manifests (
    repository TEXT NOT NULL,
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content BLOB NOT NULL,
    subject TEXT,
    artifact_type TEXT,
    annotations TEXT NOT NULL,
    pushed INTEGER NOT NULL,
    stand_in INTEGER NOT NULL,
    PRIMARY KEY (repository, digest)
);
CREATE INDEX registry_manifests_by_subject ON registry_manifests (repository, subject);
CREATE TABLE registry_references (
    repository TEXT NOT NULL, manifest TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (repository, manifest, digest)
) WITHOUT ROWID;
CREATE INDEX registry_references_by_digest ON registry_references (repository, digest);
CREATE TABLE registry_tags (
    repository TEXT NOT NULL, tag TEXT NOT NULL, digest TEXT NOT NULL, updated INTEGER NOT NULL,
    PRIMARY KEY (repository, tag)
) WITHOUT ROWID;
CREATE INDEX registry_tags_by_digest ON registry_tags (repository, digest);
CREATE TABLE registry_uploads (
    id TEXT PRIMARY KEY, repository TEXT NOT NULL, touched INTEGER NOT NULL
) WITHOUT ROWID;
"""

_ALL = ("blobs", "links", "manifests", "references", "tags", "uploads")


@dataclass(frozen=True, kw_only=True)
class StoredManifest:
    """A manifest of a repository. `tag` is the one that it was asked for with, if any.

    `stand_in`: nobody pushed it; the emulator answers with it in place of an image that it does not have.
    """

    repository: str
    digest: str
    media_type: str
    content: bytes = field(repr=False)
    tag: str | None = None
    subject: str | None = None
    artifact_type: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    pushed: int = 0
    stand_in: bool = False

    @property
    def name(self) -> str:
        """The canonical name with the digest."""
        return f"{self.repository}@{self.digest}"


@dataclass(frozen=True, kw_only=True)
class StoredTag:
    repository: str
    tag: str
    digest: str
    updated: int


class Store:
    """Reading sees what is committed; what writes runs within a `transaction`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("registry", (_TABLES,))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._database.transaction() as connection:
            yield connection

    # Blobs

    def blob_size(self, digest: str, *, repository: str | None = None) -> int | None:
        """The size of a blob that the repository has, or with None any."""
        row = self._database.row(
            "SELECT size FROM registry_blobs b WHERE digest = ? AND (? IS NULL OR EXISTS (SELECT 1 FROM "
            "registry_links l WHERE l.repository = ? AND l.digest = b.digest))",
            (digest, repository, repository),
        )
        return None if row is None else int(row["size"])

    def link(self, repository: str, digest: str, *, at: int) -> None:
        """Have the repository have the blob."""
        self._database.execute(
            "INSERT INTO registry_links VALUES (?, ?, ?) "
            "ON CONFLICT (repository, digest) DO UPDATE SET touched = excluded.touched",
            (repository, digest, at),
        )

    def touch(self, repository: str, digest: str, *, at: int, unless_since: int) -> None:
        """Somebody relies on the blob. Nothing is written where that was said `unless_since` or later."""
        row = self._database.row(
            "SELECT touched FROM registry_links WHERE repository = ? AND digest = ?", (repository, digest)
        )
        if row is not None and not unless_since <= row["touched"] <= at:
            self._database.execute(
                "UPDATE registry_links SET touched = ? WHERE repository = ? AND digest = ?",
                (at, repository, digest),
            )

    def unlink(self, repository: str, digest: str) -> bool:
        return bool(
            self._database.execute(
                "DELETE FROM registry_links WHERE repository = ? AND digest = ?", (repository, digest)
            )
        )

    def add_blob(self, digest: str, size: int) -> None:
        self._database.execute("INSERT OR REPLACE INTO registry_blobs VALUES (?, ?)", (digest, size))

    def blobs(self) -> list[str]:
        return [str(row["digest"]) for row in self._database.rows("SELECT digest FROM registry_blobs")]

    def remove_blobs(self, digests: Collection[str]) -> None:
        with self.transaction() as connection:
            connection.executemany(
                "DELETE FROM registry_blobs WHERE digest = ?", [(each,) for each in digests]
            )
            connection.executemany(
                "DELETE FROM registry_links WHERE digest = ?", [(each,) for each in digests]
            )

    # Manifests

    def manifest(self, repository: str, digest: str) -> StoredManifest | None:
        row = self._database.row(
            "SELECT * FROM registry_manifests WHERE repository = ? AND digest = ?", (repository, digest)
        )
        return None if row is None else _manifest(row)

    def manifests(self, repository: str) -> list[StoredManifest]:
        """The newest first."""
        rows = self._database.rows(
            "SELECT * FROM registry_manifests WHERE repository = ? ORDER BY pushed DESC, digest",
            (repository,),
        )
        return [_manifest(row) for row in rows]

    def has_manifest(self, repository: str, digest: str) -> bool:
        return bool(
            self._database.row(
                "SELECT 1 FROM registry_manifests WHERE repository = ? AND digest = ?", (repository, digest)
            )
        )

    def put_manifest(self, stored: StoredManifest, read: Manifest) -> None:
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO registry_manifests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (repository, digest) DO UPDATE SET media_type = excluded.media_type, "
                "stand_in = min(stand_in, excluded.stand_in)",
                (
                    stored.repository,
                    stored.digest,
                    stored.media_type,
                    stored.content,
                    read.subject,
                    read.artifact_type,
                    json.dumps(dict(read.annotations)),
                    stored.pushed,
                    int(stored.stand_in),
                ),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO registry_references VALUES (?, ?, ?)",
                [(stored.repository, stored.digest, each.digest) for each in (*read.blobs, *read.manifests)],
            )

    def remove_manifest(self, repository: str, digest: str) -> bool:
        """The manifest and its tags."""
        key = (repository, digest)
        with self.transaction() as connection:
            connection.execute("DELETE FROM registry_tags WHERE repository = ? AND digest = ?", key)
            connection.execute("DELETE FROM registry_references WHERE repository = ? AND manifest = ?", key)
            return bool(
                connection.execute(
                    "DELETE FROM registry_manifests WHERE repository = ? AND digest = ?", key
                ).rowcount
            )

    def referrers(
        self, repository: str, subject: str, *, artifact_type: str | None, after: str, limit: int
    ) -> list[StoredManifest]:
        rows = self._database.rows(
            "SELECT * FROM registry_manifests WHERE repository = ? AND subject = ? AND digest > ? "
            "AND (? IS NULL OR artifact_type = ?) ORDER BY digest LIMIT ?",
            (repository, subject, after, artifact_type, artifact_type, limit),
        )
        return [_manifest(row) for row in rows]

    # Tags

    def tagged(self, repository: str, tag: str) -> str | None:
        """The digest that a tag stands for."""
        row = self._database.row(
            "SELECT digest FROM registry_tags WHERE repository = ? AND tag = ?", (repository, tag)
        )
        return None if row is None else str(row["digest"])

    def put_tag(self, repository: str, tag: str, digest: str, *, at: int) -> None:
        self._database.execute(
            "INSERT INTO registry_tags VALUES (?, ?, ?, ?) ON CONFLICT (repository, tag) "
            "DO UPDATE SET digest = excluded.digest, updated = excluded.updated",
            (repository, tag, digest, at),
        )

    def remove_tag(self, repository: str, tag: str) -> bool:
        return bool(
            self._database.execute(
                "DELETE FROM registry_tags WHERE repository = ? AND tag = ?", (repository, tag)
            )
        )

    def tags(self, repository: str, *, after: str | None = None, limit: int = -1) -> list[StoredTag]:
        """In the specification's order, whatever the case of letters; `after` is not included."""
        last = after or ""
        rows = self._database.rows(
            "SELECT * FROM registry_tags WHERE repository = ? AND (lower(tag), tag) > (lower(?), ?) "
            "ORDER BY lower(tag), tag LIMIT ?",
            (repository, last, last, limit),
        )
        return [StoredTag(**row) for row in rows]

    def tags_of(self, repository: str, digest: str) -> list[str]:
        """The tags that stand for a manifest."""
        rows = self._database.rows(
            "SELECT tag FROM registry_tags WHERE repository = ? AND digest = ? ORDER BY tag",
            (repository, digest),
        )
        return [str(row["tag"]) for row in rows]

    # Repositories

    def is_known(self, repository: str) -> bool:
        """Whether anything has been pushed there, and not all of it removed."""
        return bool(
            self._database.row(
                "SELECT 1 FROM registry_manifests WHERE repository = ? AND NOT stand_in", (repository,)
            )
            or self._database.row("SELECT 1 FROM registry_links WHERE repository = ?", (repository,))
        )

    def repositories(self, *, below: str = "", after: str = "", limit: int = -1) -> list[str]:
        """Those with manifests that somebody pushed, by name; `below` is how their names begin."""
        rows = self._database.rows(
            "SELECT DISTINCT repository FROM registry_manifests WHERE NOT stand_in AND repository > ? "
            "AND substr(repository, 1, ?) = ? ORDER BY repository LIMIT ?",
            (after, len(below), below, limit),
        )
        return [str(row["repository"]) for row in rows]

    def has_pushed(self) -> bool:
        """Whether there is a manifest that somebody has pushed."""
        return self._database.row("SELECT 1 FROM registry_manifests WHERE NOT stand_in LIMIT 1") is not None

    def remove_repository(self, repository: str) -> None:
        with self.transaction() as connection:
            for table in _ALL[1:]:
                connection.execute(f"DELETE FROM registry_{table} WHERE repository = ?", (repository,))  # noqa: S608

    # Uploads

    def upload(self, identifier: str) -> str | None:
        """The repository of an upload."""
        row = self._database.row("SELECT repository FROM registry_uploads WHERE id = ?", (identifier,))
        return None if row is None else str(row["repository"])

    def put_upload(self, identifier: str, repository: str, *, at: int) -> None:
        self._database.execute("INSERT INTO registry_uploads VALUES (?, ?, ?)", (identifier, repository, at))

    def touch_upload(self, identifier: str, *, at: int) -> None:
        self._database.execute("UPDATE registry_uploads SET touched = ? WHERE id = ?", (at, identifier))

    def remove_upload(self, identifier: str) -> None:
        self._database.execute("DELETE FROM registry_uploads WHERE id = ?", (identifier,))

    def uploads_of(self, repository: str) -> list[str]:
        rows = self._database.rows("SELECT id FROM registry_uploads WHERE repository = ?", (repository,))
        return [str(row["id"]) for row in rows]

    def uploads(self) -> Mapping[str, int]:
        """When something last came, by identifier."""
        return {row["id"]: row["touched"] for row in self._database.rows("SELECT * FROM registry_uploads")}

    # Garbage

    def stale_links(self, *, before: int) -> list[tuple[str, str]]:
        """Blobs of repositories in which no manifest names them, and that nobody touched since."""
        rows = self._database.rows(
            "SELECT repository, digest FROM registry_links l WHERE touched < ? AND NOT EXISTS (SELECT 1 FROM "
            "registry_references r WHERE r.repository = l.repository AND r.digest = l.digest) AND NOT EXISTS "
            "(SELECT 1 FROM registry_uploads u WHERE u.repository = l.repository AND u.touched >= ?)",
            (before, before),
        )
        return [(row["repository"], row["digest"]) for row in rows]

    def blobs_of_nobody(self) -> list[str]:
        """Blobs that no repository has."""
        rows = self._database.rows(
            "SELECT digest FROM registry_blobs b WHERE NOT EXISTS "
            "(SELECT 1 FROM registry_links l WHERE l.digest = b.digest)"
        )
        return [str(row["digest"]) for row in rows]

    def remove_all(self) -> None:
        with self.transaction() as connection:
            for table in _ALL:
                connection.execute(f"DELETE FROM registry_{table}")  # noqa: S608 - our own names


def _manifest(row: sqlite3.Row) -> StoredManifest:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a Row iterates over its values
    values["annotations"] = json.loads(values["annotations"])
    values["stand_in"] = bool(values["stand_in"])
    return StoredManifest(**values)
