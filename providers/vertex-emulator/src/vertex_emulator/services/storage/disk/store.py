"""The tables of Cloud Storage: records of buckets, objects and resumable uploads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database, ReadCache
from vertex_emulator.services.storage.disk.records import (
    SCHEMA,
    Bucket,
    Columns,
    ObjectRow,
    RecordedState,
    StoredObject,
    bucket_of,
    object_of,
    row_of,
)
from vertex_emulator.services.storage.disk.soft_deletion import SoftDeletions
from vertex_emulator.services.storage.errors import no_bucket
from vertex_emulator.services.storage.names import after_prefix

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FIRST_PAGE = 16
_MAX_PAGE = 1024
_LOCKS = 64
_STATE_BYTES = 300
_KEY_STATES = 7
"""A key has as many bytes as so many states."""
_MOST_STATE_BYTES = 4 << 20
PUT_OBJECT = (
    f"INSERT OR REPLACE INTO storage_objects ({', '.join(ObjectRow._fields)}) "  # noqa: S608 - names of ours
    f"VALUES ({', '.join('?' * len(ObjectRow._fields))})"
)
_RETAINED_UNTIL = "strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(retained_from, created), :seconds)"


class Store:
    """The tables of Cloud Storage, generation numbers, and a lock for each bucket."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.clock = clock
        self.soft_deletions = SoftDeletions(database, clock)
        self.reserve = database.reserve
        self._database = database
        self._states: ReadCache[tuple[str, str], dict[str, RecordedState]] = self.cache(
            size=lambda states: (len(states) + _KEY_STATES) * _STATE_BYTES, most=_MOST_STATE_BYTES
        )
        database.migrate("storage", SCHEMA)
        row = database.row(
            "SELECT max(generation) AS last FROM "
            "(SELECT generation FROM storage_objects UNION ALL SELECT generation FROM storage_buckets)"
        )
        self._last_generation = (row["last"] if row else None) or 0
        self._generation_lock = threading.Lock()
        # Striped: a bucket always has the same lock, and invented names need no memory.
        self._locks = tuple(threading.RLock() for _ in range(_LOCKS))

    @contextmanager
    def locked(self, bucket: str) -> Iterator[None]:
        """Hold the bucket's lock, which allows one writer at a time."""
        with self._locks[hash(bucket) % _LOCKS]:
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write the changes of the block atomically."""
        with self._database.transaction():
            yield

    def cache(self, *, size: Callable[[V], int], most: int) -> ReadCache[K, V]:
        """Return a cache of what is read from the records. `size` and `most` are bytes."""
        return ReadCache(self._database, size=size, most=most)

    def next_generation(self) -> int:
        """Return a new generation: microseconds of the machine's clock, but always increasing."""
        with self._generation_lock:
            self._last_generation = max(self._last_generation + 1, machine_clock.unix_nanoseconds() // 1000)
            return int(self._last_generation)

    def advance_generation(self, generation: int) -> None:
        """Make later generations greater than an imported object's."""
        with self._generation_lock:
            self._last_generation = max(self._last_generation, generation)

    def all_buckets(self) -> list[Bucket]:
        """Return the buckets of all projects by name."""
        rows = self._database.rows("SELECT * FROM storage_buckets WHERE soft_deleted IS NULL ORDER BY name")
        return [bucket_of(row) for row in rows]

    def remove_all(self) -> None:
        """Remove all buckets, objects and uploads."""
        with self._database.transaction() as connection:
            for table in ("storage_uploads", "storage_objects", "storage_buckets"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608

    def find_bucket(self, name: str) -> Bucket | None:
        row = self._database.row(
            "SELECT * FROM storage_buckets WHERE name = ? AND soft_deleted IS NULL", (name,)
        )
        return bucket_of(row) if row else None

    def soft_deleted_bucket(self, name: str, generation: int) -> Bucket | None:
        """Return a bucket that can still be restored, or None."""
        row = self._database.row(
            "SELECT * FROM storage_buckets WHERE name = ? AND hard_delete > ?",
            (f"{name}#{generation}", self.clock.now()),
        )
        return bucket_of(row) if row else None

    def bucket(self, name: str) -> Bucket:
        """Return a bucket. Raises `StorageError` 404."""
        stored = self.find_bucket(name)
        if stored is None:
            raise no_bucket()
        return stored

    def buckets(
        self, project: str, *, prefix: str, after: str, limit: int, soft_deleted: bool = False
    ) -> list[Bucket]:
        """Return a project's buckets in order of the keys of their records."""
        upper = after_prefix(prefix)
        which = "hard_delete > ?" if soft_deleted else "soft_deleted IS NULL AND ? != ''"
        rows = self._database.rows(
            "SELECT * FROM storage_buckets WHERE project = ? AND name > ? AND name >= ? AND (? IS NULL OR "  # noqa: S608
            f"name < ?) AND {which} ORDER BY name LIMIT ?",
            (project, after, prefix, upper, upper, self.clock.now(), limit),
        )
        return [bucket_of(row) for row in rows]

    def put_bucket(self, bucket: Bucket) -> None:
        self._database.execute(
            "INSERT INTO storage_buckets (name, project, generation, metageneration, created, updated, "
            "settings, policy, chose_soft_delete, soft_deleted, hard_delete) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET metageneration = excluded.metageneration, "
            "updated = excluded.updated, settings = excluded.settings, policy = excluded.policy, "
            "chose_soft_delete = excluded.chose_soft_delete",
            (
                bucket.record,
                bucket.project,
                bucket.generation,
                bucket.metageneration,
                bucket.created,
                bucket.updated,
                json.dumps(bucket.settings),
                None if bucket.policy is None else json.dumps(bucket.policy),
                int(bucket.chose_soft_delete),
                bucket.soft_deleted,
                bucket.hard_delete,
            ),
        )

    def rename_bucket(self, old: Bucket, new: Bucket) -> None:
        """Record a bucket and its soft-deleted objects under another key."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM storage_uploads WHERE bucket = ?", (old.record,))
            self.put_bucket(new)
            connection.execute(
                "UPDATE storage_objects SET bucket = ? WHERE bucket = ?", (new.record, old.record)
            )
            connection.execute("DELETE FROM storage_buckets WHERE name = ?", (old.record,))

    def remove_bucket(self, name: str) -> None:
        """Remove the records of a bucket, its soft-deleted objects and its unfinished uploads.

        `name` is the key of its record. Raises `sqlite3.IntegrityError` if it has other objects.
        """
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM storage_objects WHERE bucket = ? AND soft_deleted IS NOT NULL", (name,)
            )
            connection.execute("DELETE FROM storage_uploads WHERE bucket = ?", (name,))
            connection.execute("DELETE FROM storage_buckets WHERE name = ?", (name,))

    def has_objects(self, bucket: str) -> bool:
        return (
            self._database.row(
                "SELECT 1 FROM storage_objects WHERE bucket = ? AND soft_deleted IS NULL LIMIT 1", (bucket,)
            )
            is not None
        )

    def retain(self, bucket: str, seconds: int | None) -> None:
        """Record the end of the retention period of all objects, after a change of the bucket's policy."""
        until = "NULL" if seconds is None else _RETAINED_UNTIL
        self._database.execute(
            f"UPDATE storage_objects SET retained_until = {until} WHERE bucket = :bucket AND "  # noqa: S608
            "soft_deleted IS NULL",
            {"bucket": bucket, "seconds": f"+{seconds or 0} seconds"},
        )

    def live(self, bucket: str, name: str) -> StoredObject | None:
        row = self._database.row(
            "SELECT * FROM storage_objects WHERE bucket = ? AND name = ? AND live", (bucket, name)
        )
        return object_of(row) if row else None

    def generation(self, bucket: str, name: str, generation: int) -> StoredObject | None:
        """Return a live or noncurrent object, or None."""
        row = self._database.row(
            "SELECT * FROM storage_objects WHERE bucket = ? AND name = ? AND generation = ? AND "
            "soft_deleted IS NULL",
            (bucket, name, generation),
        )
        return object_of(row) if row else None

    def soft_deleted(self, bucket: str, name: str, generation: int) -> StoredObject | None:
        """Return a soft-deleted object that can still be restored, or None."""
        row = self._database.row(
            "SELECT * FROM storage_objects WHERE bucket = ? AND name = ? AND generation = ? AND "
            "hard_delete > ?",
            (bucket, name, generation, self.clock.now()),
        )
        return object_of(row) if row else None

    def put_object(self, stored: StoredObject) -> None:
        self._database.execute(PUT_OBJECT, row_of(stored))

    def remove_object(self, stored: StoredObject) -> None:
        self._database.execute(
            "DELETE FROM storage_objects WHERE bucket = ? AND name = ? AND generation = ?",
            (stored.bucket, stored.name, stored.generation),
        )

    def objects(self, bucket: str, *, versions: bool = False) -> Iterator[StoredObject]:
        """Yield the live objects of a bucket by name and generation; with `versions` also noncurrent ones."""
        return map(object_of, self.rows(bucket, versions=versions))

    def rows(
        self,
        bucket: str,
        *,
        versions: bool = False,
        soft_deleted: bool = False,
        after: tuple[str, int] = ("", 0),
        start: str = "",
        end: str | None = None,
        at_first: int = _FIRST_PAGE,
    ) -> Iterator[ObjectRow]:
        """Yield the rows with start <= name < end, after `after` (name and generation), in that order.

        They are live objects; with `versions` also noncurrent ones, and with `soft_deleted` only those that
        can be restored. The caller will use about `at_first` of them.
        """
        size = min(at_first, _MAX_PAGE)
        while True:
            rows = self.page(
                bucket, size, versions=versions, soft_deleted=soft_deleted, after=after, start=start, end=end
            )
            yield from map(ObjectRow._make, rows)
            if len(rows) < size:
                return
            last = ObjectRow._make(rows[-1])
            after = (last.name, last.generation)
            size = min(size * 4, _MAX_PAGE)

    def states(self, bucket: str, prefix: str) -> Mapping[str, RecordedState]:
        """Return the states of the live objects whose names begin with `prefix`."""
        return self._states.get((bucket, prefix), lambda: self._read_states(bucket, prefix))

    def _read_states(self, bucket: str, prefix: str) -> dict[str, RecordedState]:
        end = after_prefix(prefix)
        rows = self._database.tuples(
            "SELECT name, size, mtime_ns, inode, aside IS NOT NULL FROM storage_objects "
            "WHERE bucket = ? AND name >= ? AND (? IS NULL OR name < ?) AND live",
            (bucket, prefix, end, end),
        )
        return {row[0]: row[1:] for row in rows}

    def page(
        self,
        bucket: str,
        size: int,
        *,
        versions: bool,
        soft_deleted: bool,
        after: tuple[str, int],
        start: str,
        end: str | None,
    ) -> list[Columns]:
        """Return the first `size` of the rows of `objects`."""
        # One lower bound: of two, SQLite may use the lesser one, and read all rows up to the greater one.
        begin, place = ("name >= ?", [start]) if after[0] < start else ("(name, generation) > (?, ?)", after)
        clauses = ["bucket = ?", begin]
        values: list[Any] = [bucket, *place]
        if end is not None:
            clauses.append("name < ?")
            values.append(end)
        if soft_deleted:
            clauses.append("hard_delete > ?")
            values.append(self.clock.now())
        else:
            clauses.append("soft_deleted IS NULL" if versions else "live")
        query = (
            f"SELECT * FROM storage_objects WHERE {' AND '.join(clauses)} "  # noqa: S608
            f"ORDER BY name, generation LIMIT {size}"
        )
        return self._database.tuples(query, values)

    def objects_aside(self) -> Iterator[StoredObject]:
        """Yield all objects whose content is in the folder objects-aside."""
        for row in self._database.rows("SELECT * FROM storage_objects WHERE aside IS NOT NULL"):
            yield object_of(row)

    def incoming_objects(self) -> list[StoredObject]:
        """Return the objects whose content may still be in the folder objects-incoming."""
        rows = self._database.rows("SELECT * FROM storage_objects WHERE incoming IS NOT NULL")
        return [object_of(row) for row in rows]

    def moving(self) -> list[StoredObject]:
        """Return the objects whose file may still have its old name as well."""
        rows = self._database.rows("SELECT * FROM storage_objects WHERE moved_from IS NOT NULL")
        return [object_of(row) for row in rows]

    def clear_incoming(self) -> None:
        self._database.execute(
            "UPDATE storage_objects SET incoming = NULL, moved_from = NULL "
            "WHERE incoming IS NOT NULL OR moved_from IS NOT NULL"
        )

    def put_upload(self, identifier: str, *, bucket: str, name: str, started: str, request: object) -> None:
        self._database.execute(
            "INSERT INTO storage_uploads VALUES (?, ?, ?, ?, ?, NULL)",
            (identifier, bucket, name, started, json.dumps(request)),
        )

    def upload(self, identifier: str) -> dict[str, Any] | None:
        """Return bucket, name, request and generation (None until it is finished) of a resumable upload."""
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

    def unfinished_uploads(self, bucket: str | None = None) -> Sequence[str]:
        """Return the ids of unfinished uploads to a bucket, or to all buckets."""
        rows = self._database.rows(
            "SELECT id FROM storage_uploads WHERE generation IS NULL AND (? IS NULL OR bucket = ?)",
            (bucket, bucket),
        )
        return [row["id"] for row in rows]
