"""The registry's tables. Times are in microseconds since 1970 by the emulator's clock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from vertex_emulator.kernel.database import Database
from vertex_emulator.services.container_registry.manifests import Manifest

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
    """A manifest of a repository. `tag` is the tag of the lookup, if any.

    A `stand_in` was never pushed; the emulator serves it in place of a missing image.
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
    """A tag, the digest that it points to, and the time of its last change."""

    repository: str
    tag: str
    digest: str
    updated: int


class Store:
    """The tables of the registry. Reads see committed data; writes run within a `transaction`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.on_step: Callable[[str], None] | None = None
        database.migrate("registry", (_TABLES,))

    def step(self, name: str) -> None:
        """Call the hook `on_step`, which injects faults between the steps of a request."""
        if self.on_step is not None:
            self.on_step(name)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._database.transaction() as connection:
            yield connection

    # Blobs

    def blob_size(self, digest: str, *, repository: str | None = None) -> int | None:
        """Return the size of a blob of the repository, or of any repository with None."""
        row = self._database.row(
            "SELECT size FROM registry_blobs b WHERE digest = ? AND (? IS NULL OR EXISTS (SELECT 1 FROM "
            "registry_links l WHERE l.repository = ? AND l.digest = b.digest))",
            (digest, repository, repository),
        )
        return None if row is None else int(row["size"])

    def link(self, repository: str, digest: str, *, at: int) -> None:
        """Link a blob to a repository."""
        self._database.execute(
            "INSERT INTO registry_links VALUES (?, ?, ?) "
            "ON CONFLICT (repository, digest) DO UPDATE SET touched = excluded.touched",
            (repository, digest, at),
        )

    def touch(self, repository: str, digest: str, *, at: int, unless_since: int) -> None:
        """Record that a blob is in use.

        Nothing is written if this was recorded at `unless_since` or later.
        """
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
        """Return the manifests of a repository, newest first."""
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
        """Delete a manifest with its tags. Return whether it existed."""
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
        """Return the digest that a tag points to."""
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
        """Return tags in the specification's order, regardless of case, beginning after the tag `after`."""
        last = after or ""
        rows = self._database.rows(
            "SELECT * FROM registry_tags WHERE repository = ? AND (lower(tag), tag) > (lower(?), ?) "
            "ORDER BY lower(tag), tag LIMIT ?",
            (repository, last, last, limit),
        )
        return [StoredTag(**row) for row in rows]

    def tags_of(self, repository: str, digest: str) -> list[str]:
        """Return the tags that point to a manifest."""
        rows = self._database.rows(
            "SELECT tag FROM registry_tags WHERE repository = ? AND digest = ? ORDER BY tag",
            (repository, digest),
        )
        return [str(row["tag"]) for row in rows]

    # Repositories

    def is_known(self, repository: str) -> bool:
        """Return whether the repository has a pushed manifest or a blob."""
        return bool(
            self._database.row(
                "SELECT 1 FROM registry_manifests WHERE repository = ? AND NOT stand_in", (repository,)
            )
            or self._database.row("SELECT 1 FROM registry_links WHERE repository = ?", (repository,))
        )

    def repositories(self, *, below: str = "") -> list[str]:
        """Return the names of repositories with pushed manifests, sorted.

        `below` is a prefix of the names.
        """
        rows = self._database.rows(
            "SELECT DISTINCT repository FROM registry_manifests WHERE NOT stand_in "
            "AND substr(repository, 1, ?) = ? ORDER BY repository",
            (len(below), below),
        )
        return [str(row["repository"]) for row in rows]

    def has_pushed(self) -> bool:
        """Return whether any manifest was pushed."""
        return self._database.row("SELECT 1 FROM registry_manifests WHERE NOT stand_in LIMIT 1") is not None

    def remove_repository(self, repository: str) -> None:
        with self.transaction() as connection:
            for table in _ALL[1:]:
                connection.execute(f"DELETE FROM registry_{table} WHERE repository = ?", (repository,))  # noqa: S608

    # Uploads

    def upload(self, identifier: str) -> str | None:
        """Return the repository of an upload."""
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
        """Return the time of the last data of each upload, by identifier."""
        return {row["id"]: row["touched"] for row in self._database.rows("SELECT * FROM registry_uploads")}

    # Garbage

    def stale_links(self, *, before: int) -> list[tuple[str, str]]:
        """Return repository and digest of blobs without a manifest that were not used since `before`."""
        rows = self._database.rows(
            "SELECT repository, digest FROM registry_links l WHERE touched < ? AND NOT EXISTS (SELECT 1 FROM "
            "registry_references r WHERE r.repository = l.repository AND r.digest = l.digest) AND NOT EXISTS "
            "(SELECT 1 FROM registry_uploads u WHERE u.repository = l.repository AND u.touched >= ?)",
            (before, before),
        )
        return [(row["repository"], row["digest"]) for row in rows]

    def unlinked_blobs(self) -> list[str]:
        """Return the digests of blobs that are in no repository."""
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
