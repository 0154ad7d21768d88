"""What soft deletion has left behind, and when it is to be removed for good."""

from __future__ import annotations

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.storage.disk.records import Bucket, StoredObject, bucket_of, object_of


class Removals:
    """Reads the records of soft-deleted objects and buckets."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def objects(self, *, most: int) -> list[StoredObject]:
        """Soft-deleted objects whose time is over, the oldest first."""
        rows = self._database.rows(
            "SELECT * FROM storage_objects WHERE soft_deleted IS NOT NULL AND hard_delete <= ? "
            "ORDER BY hard_delete LIMIT ?",
            (self._clock.now(), most),
        )
        return [object_of(row) for row in rows]

    def contents(self, bucket: str) -> list[str]:
        """The names in objects-aside of a bucket's soft-deleted objects."""
        rows = self._database.rows(
            "SELECT aside FROM storage_objects WHERE bucket = ? AND soft_deleted IS NOT NULL", (bucket,)
        )
        return [row["aside"] for row in rows if row["aside"]]

    def buckets(self) -> list[Bucket]:
        """Soft-deleted buckets whose time is over, of whose objects none is left."""
        rows = self._database.rows(
            "SELECT * FROM storage_buckets WHERE soft_deleted IS NOT NULL AND hard_delete <= ? AND NOT "
            "EXISTS (SELECT 1 FROM storage_objects WHERE bucket = storage_buckets.name)",
            (self._clock.now(),),
        )
        return [bucket_of(row) for row in rows]

    def next(self) -> str | None:
        """When the next soft-deleted object's or bucket's time is over."""
        row = self._database.row(
            "SELECT min(at) AS at FROM (SELECT min(hard_delete) AS at FROM storage_objects "
            "WHERE soft_deleted IS NOT NULL UNION ALL "
            "SELECT min(hard_delete) FROM storage_buckets WHERE soft_deleted IS NOT NULL)"
        )
        return row["at"] if row else None

    def kept_unasked(self) -> list[StoredObject]:
        """Soft-deleted objects of buckets whose owners have not chosen that, the latest first."""
        rows = self._database.rows(
            "SELECT o.* FROM storage_objects AS o JOIN storage_buckets AS b ON b.name = o.bucket WHERE "
            "o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete "
            "ORDER BY o.soft_deleted DESC, o.generation DESC"
        )
        return [object_of(row) for row in rows]

    def bytes_kept_unasked(self) -> int:
        """The size of all of them."""
        row = self._database.row(
            "SELECT coalesce(sum(o.size), 0) AS size FROM storage_objects AS o JOIN storage_buckets AS b ON "
            "b.name = o.bucket WHERE o.soft_deleted IS NOT NULL AND NOT b.chose_soft_delete"
        )
        return int(row["size"]) if row else 0
