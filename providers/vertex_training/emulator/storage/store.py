"""Reads and writes the records of Cloud Storage. What belongs together is written in one transaction."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vertex_training.emulator.clock import Clock
from vertex_training.emulator.database import Database
from vertex_training.emulator.storage.errors import no_bucket
from vertex_training.emulator.storage.names import after_prefix
from vertex_training.emulator.storage.records import SCHEMA, Bucket, StoredObject, bucket_of, object_of

_FIRST_PAGE = 16
_MOST_PAGE = 1024
_LOCKS = 64


class Store:
    """The tables of Cloud Storage, generation numbers, and a lock for each bucket."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.clock = clock
        self._database = database
        database.migrate("storage", SCHEMA)
        row = database.row(
            "SELECT max(generation) AS last FROM "
            "(SELECT generation FROM storage_objects UNION ALL SELECT generation FROM storage_buckets)"
        )
        self._last_generation = (row["last"] if row else None) or 0
        self._generation_lock = threading.Lock()
        # Striped: a bucket always has the same one, and names that clients make up cost nothing.
        self._locks = tuple(threading.RLock() for _ in range(_LOCKS))

    @contextmanager
    def locked(self, bucket: str) -> Iterator[None]:
        """Hold the bucket's lock: one writer at a time."""
        with self._locks[hash(bucket) % _LOCKS]:
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is written in the block."""
        with self._database.transaction():
            yield

    def next_generation(self) -> int:
        """Microseconds of the machine's clock, strictly increasing over the life of the data folder."""
        with self._generation_lock:
            self._last_generation = max(self._last_generation + 1, time.time_ns() // 1000)
            return int(self._last_generation)

    def saw_generation(self, generation: int) -> None:
        """Objects with numbers up to that one have come from elsewhere."""
        with self._generation_lock:
            self._last_generation = max(self._last_generation, generation)

    def all_buckets(self) -> list[Bucket]:
        """The buckets of all projects, by name."""
        return [bucket_of(row) for row in self._database.rows("SELECT * FROM storage_buckets ORDER BY name")]

    def remove_all(self) -> None:
        """Remove all buckets, objects and uploads."""
        with self._database.transaction() as connection:
            for table in ("storage_uploads", "storage_objects", "storage_buckets"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608

    def find_bucket(self, name: str) -> Bucket | None:
        row = self._database.row("SELECT * FROM storage_buckets WHERE name = ?", (name,))
        return bucket_of(row) if row else None

    def bucket(self, name: str) -> Bucket:
        """Raises `StorageError` 404."""
        found = self.find_bucket(name)
        if found is None:
            raise no_bucket()
        return found

    def buckets(self, project: str, *, prefix: str, after: str, limit: int) -> list[Bucket]:
        """A project's buckets by name."""
        upper = after_prefix(prefix)
        rows = self._database.rows(
            "SELECT * FROM storage_buckets WHERE project = ? AND name > ? AND name >= ? AND (? IS NULL OR "
            "name < ?) ORDER BY name LIMIT ?",
            (project, after, prefix, upper, upper, limit),
        )
        return [bucket_of(row) for row in rows]

    def put_bucket(self, bucket: Bucket) -> None:
        self._database.execute(
            "INSERT INTO storage_buckets VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "metageneration = excluded.metageneration, updated = excluded.updated, "
            "settings = excluded.settings",
            (
                bucket.name,
                bucket.project,
                bucket.generation,
                bucket.metageneration,
                bucket.created,
                bucket.updated,
                json.dumps(bucket.settings),
            ),
        )

    def remove_bucket(self, name: str) -> None:
        """Remove a bucket that has no objects, and its unfinished uploads."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM storage_uploads WHERE bucket = ?", (name,))
            connection.execute("DELETE FROM storage_buckets WHERE name = ?", (name,))

    def has_objects(self, bucket: str) -> bool:
        return (
            self._database.row("SELECT 1 FROM storage_objects WHERE bucket = ? LIMIT 1", (bucket,))
            is not None
        )

    def live(self, bucket: str, name: str) -> StoredObject | None:
        row = self._database.row(
            "SELECT * FROM storage_objects WHERE bucket = ? AND name = ? AND live", (bucket, name)
        )
        return object_of(row) if row else None

    def generation(self, bucket: str, name: str, generation: int) -> StoredObject | None:
        row = self._database.row(
            "SELECT * FROM storage_objects WHERE bucket = ? AND name = ? AND generation = ?",
            (bucket, name, generation),
        )
        return object_of(row) if row else None

    def put_object(self, stored: StoredObject) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO storage_objects (bucket, name, generation, metageneration, live, size, "
            "crc32c, md5, created, updated, deleted, settings, aside, incoming, mtime_ns, inode) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                stored.bucket,
                stored.name,
                stored.generation,
                stored.metageneration,
                int(stored.live),
                stored.state.size,
                stored.crc32c,
                stored.md5,
                stored.created,
                stored.updated,
                stored.deleted,
                json.dumps(stored.settings),
                stored.aside,
                stored.incoming,
                stored.state.mtime_ns,
                stored.state.inode,
            ),
        )

    def remove_object(self, stored: StoredObject) -> None:
        self._database.execute(
            "DELETE FROM storage_objects WHERE bucket = ? AND name = ? AND generation = ?",
            (stored.bucket, stored.name, stored.generation),
        )

    def objects(
        self,
        bucket: str,
        *,
        versions: bool = False,
        after: tuple[str, int] = ("", 0),
        start: str = "",
        end: str | None = None,
    ) -> Iterator[StoredObject]:
        """Objects with start <= name < end, beyond `after` (name and generation), in that order."""
        size = _FIRST_PAGE
        while True:
            rows = self._page(bucket, size, versions=versions, after=after, start=start, end=end)
            for row in rows:
                yield object_of(row)
            if len(rows) < size:
                return
            after = (rows[-1]["name"], rows[-1]["generation"])
            size = min(size * 4, _MOST_PAGE)

    def _page(
        self,
        bucket: str,
        size: int,
        *,
        versions: bool,
        after: tuple[str, int],
        start: str,
        end: str | None,
    ) -> list[Any]:
        clauses = ["bucket = ?", "(name, generation) > (?, ?)", "name >= ?"]
        values: list[Any] = [bucket, *after, start]
        if end is not None:
            clauses.append("name < ?")
            values.append(end)
        if not versions:
            clauses.append("live")
        query = (
            f"SELECT * FROM storage_objects WHERE {' AND '.join(clauses)} "  # noqa: S608
            f"ORDER BY name, generation LIMIT {size}"
        )
        return self._database.rows(query, values)

    def objects_aside(self) -> Iterator[StoredObject]:
        """All objects whose content is in the folder objects-aside."""
        for row in self._database.rows("SELECT * FROM storage_objects WHERE aside IS NOT NULL"):
            yield object_of(row)

    def arriving(self) -> list[StoredObject]:
        """Objects whose content may not have left the folder objects-incoming."""
        rows = self._database.rows("SELECT * FROM storage_objects WHERE incoming IS NOT NULL")
        return [object_of(row) for row in rows]

    def all_arrived(self) -> None:
        self._database.execute("UPDATE storage_objects SET incoming = NULL WHERE incoming IS NOT NULL")

    def put_upload(self, identifier: str, *, bucket: str, name: str, started: str, request: object) -> None:
        self._database.execute(
            "INSERT INTO storage_uploads VALUES (?, ?, ?, ?, ?, NULL)",
            (identifier, bucket, name, started, json.dumps(request)),
        )

    def upload(self, identifier: str) -> dict[str, Any] | None:
        """A resumable upload: bucket, name, request, and the generation that it became, if it did."""
        row = self._database.row("SELECT * FROM storage_uploads WHERE id = ?", (identifier,))
        return {**dict(row), "request": json.loads(row["request"])} if row else None

    def finish_upload(self, identifier: str, generation: int | None) -> None:
        self._database.execute(
            "UPDATE storage_uploads SET generation = ? WHERE id = ?", (generation, identifier)
        )

    def remove_upload(self, identifier: str) -> None:
        self._database.execute("DELETE FROM storage_uploads WHERE id = ?", (identifier,))

    def remove_uploads_before(self, moment: str) -> None:
        self._database.execute("DELETE FROM storage_uploads WHERE started < ?", (moment,))

    def unfinished_uploads(self) -> Sequence[str]:
        rows = self._database.rows("SELECT id FROM storage_uploads WHERE generation IS NULL")
        return [row["id"] for row in rows]
