"""The records of buckets and objects in the database."""

from __future__ import annotations

import base64
import json
import sqlite3
from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

SCHEMA = (
    """
    CREATE TABLE storage_buckets (
        name TEXT PRIMARY KEY,
        project TEXT NOT NULL,
        generation INTEGER NOT NULL,
        metageneration INTEGER NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        settings TEXT NOT NULL,
        soft_deleted TEXT,
        hard_delete TEXT,
        policy TEXT,
        chose_soft_delete INTEGER NOT NULL
    );
    CREATE TABLE storage_objects (
        bucket TEXT NOT NULL REFERENCES storage_buckets (name),
        name TEXT NOT NULL,
        generation INTEGER NOT NULL,
        metageneration INTEGER NOT NULL,
        live INTEGER NOT NULL,
        size INTEGER NOT NULL,
        crc32c TEXT NOT NULL,
        md5 TEXT NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        deleted TEXT,
        settings TEXT NOT NULL,
        aside TEXT,
        incoming TEXT,
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        soft_deleted TEXT,
        hard_delete TEXT,
        components INTEGER,
        class_updated TEXT,
        retained_from TEXT,
        retained_until TEXT,
        moved_from TEXT,
        PRIMARY KEY (bucket, name, generation)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX storage_live_objects ON storage_objects (bucket, name) WHERE live;
    CREATE INDEX storage_soft_deleted_objects ON storage_objects (hard_delete) WHERE soft_deleted IS NOT NULL;
    CREATE TABLE storage_uploads (
        id TEXT PRIMARY KEY,
        bucket TEXT NOT NULL,
        name TEXT NOT NULL,
        started TEXT NOT NULL,
        request TEXT NOT NULL,
        generation INTEGER
    );
    """,
)


class FileState(NamedTuple):
    """The properties of a file that show whether it has changed since it was recorded."""

    size: int
    mtime_ns: int
    inode: int


RecordedState = tuple[int, int, int, int]
"""The numbers of a `FileState`, and 1 for content that is not at the natural path, or 0."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket.

    `settings` are the fields of its resource that the owner chooses, in JSON with defaults. `policy` are the
    role bindings of the IAM policy, or None if it was never set. `chose_soft_delete` is True if the owner has
    ever set a soft delete policy.
    """

    name: str
    project: str
    generation: int
    metageneration: int
    created: str
    updated: str
    settings: Mapping[str, Any]
    policy: Sequence[Mapping[str, Any]] | None = None
    chose_soft_delete: bool = False
    soft_deleted: str | None = None
    hard_delete: str | None = None

    @property
    def etag(self) -> str:
        return etag(self.metageneration)

    @property
    def etags(self) -> frozenset[str]:
        return frozenset({self.etag})

    @property
    def is_uniform(self) -> bool:
        """Return whether the bucket has uniform access, and thus no access control lists."""
        return bool(self.settings["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"])

    @property
    def keeps_versions(self) -> bool:
        return bool(self.settings.get("versioning", {}).get("enabled"))

    @property
    def soft_delete_seconds(self) -> int:
        """The seconds for which deleted objects can be restored; 0 without soft deletion."""
        return int(self.settings.get("softDeletePolicy", {}).get("retentionDurationSeconds", "0"))

    @property
    def retention_seconds(self) -> int | None:
        """The retention period of the bucket's policy in seconds, or None."""
        period = self.settings.get("retentionPolicy", {}).get("retentionPeriod")
        return None if period is None else int(period)

    @property
    def record(self) -> str:
        """The key of the bucket's row. A soft-deleted bucket does not occupy its name."""
        return self.name if self.soft_deleted is None else f"{self.name}#{self.generation}"


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """One generation of an object.

    `settings` are the fields of its resource that the owner chooses, such as contentType and metadata. The
    content is the file `aside` in the folder objects-aside, or if that is None, the file at the natural path.
    `incoming` is the file's earlier name in objects-incoming, where it may still be after a crash.

    `md5` is empty for a composed object, and `components` is the number of its components. An object is live,
    noncurrent since `deleted`, or soft-deleted since `soft_deleted` and until `hard_delete`. The bucket's
    retention period begins at `retained_from`, or at `created` if that is None, and ends at `retained_until`.
    `moved_from` is the old name during a move.
    """

    bucket: str
    name: str
    generation: int
    metageneration: int = 1
    live: bool = True
    crc32c: str
    md5: str
    created: str
    updated: str
    deleted: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    aside: str | None = None
    incoming: str | None = None
    state: FileState
    soft_deleted: str | None = None
    hard_delete: str | None = None
    components: int | None = None
    class_updated: str | None = None
    retained_from: str | None = None
    retained_until: str | None = None
    moved_from: str | None = None

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def etag(self) -> str:
        return object_etag(self.generation, self.metageneration)

    @property
    def xml_etag(self) -> str:
        """The etag of the XML API without quotes: the MD5 of the content, if it is known."""
        return base64.b64decode(self.md5).hex() if self.md5 else self.etag

    @property
    def etags(self) -> frozenset[str]:
        """The etags of both APIs, because a client may send either."""
        return frozenset({self.etag, self.xml_etag})


def etag(*numbers: int) -> str:
    """Return an etag in the service's format: a protocol buffer of the numbers, in base64."""
    data = bytearray()
    for index, number in enumerate(numbers, start=1):
        data.append(index << 3)
        while number >= 0x80:
            data.append(number & 0x7F | 0x80)
            number >>= 7
        data.append(number)
    return base64.b64encode(data).decode("ascii")


def object_etag(generation: int, metageneration: int) -> str:
    """Return `etag` of both numbers. It spreads the bits of usual ones without a loop over their bytes."""
    if not (1 << 49 <= generation < 1 << 56 and metageneration < 128):
        return etag(generation, metageneration)
    groups = (generation & 0xFFFFFFF) | (generation & 0xFFFFFFF0000000) << 4
    groups = (groups & 0x3FFF00003FFF) | (groups & 0xFFFC0000FFFC000) << 2
    groups = (groups & 0x7F007F007F007F) | (groups & 0x3F803F803F803F80) << 1
    varint = (groups | 0x80808080808080).to_bytes(8, "little")
    return b2a_base64(b"\x08%b\x10%c" % (varint, metageneration), newline=False).decode("ascii")


def bucket_of(row: sqlite3.Row) -> Bucket:
    """Return the bucket of a row of storage_buckets."""
    policy = row["policy"]
    return Bucket(
        name=row["name"].partition("#")[0],
        project=row["project"],
        generation=row["generation"],
        metageneration=row["metageneration"],
        created=row["created"],
        updated=row["updated"],
        settings=json.loads(row["settings"]),
        policy=None if policy is None else json.loads(policy),
        chose_soft_delete=bool(row["chose_soft_delete"]),
        soft_deleted=row["soft_deleted"],
        hard_delete=row["hard_delete"],
    )


Columns = tuple[Any, ...]
"""A complete row of storage_objects, with the columns in the order of `ObjectRow`."""


class ObjectRow(NamedTuple):
    """A row of storage_objects, with the columns in the order of `SCHEMA`. `settings` is JSON text.

    Listings use these rows, or plain tuples of them, because parsing would take most of their time.
    """

    bucket: str
    name: str
    generation: int
    metageneration: int
    live: int
    size: int
    crc32c: str
    md5: str
    created: str
    updated: str
    deleted: str | None
    settings: str
    aside: str | None
    incoming: str | None
    mtime_ns: int
    inode: int
    soft_deleted: str | None = None
    hard_delete: str | None = None
    components: int | None = None
    class_updated: str | None = None
    retained_from: str | None = None
    retained_until: str | None = None
    moved_from: str | None = None


_STATE = ("size", "mtime_ns", "inode")
_AS_THEY_ARE = tuple(name for name in ObjectRow._fields if name not in (*_STATE, "live", "settings"))
_plain = attrgetter(*_AS_THEY_ARE)


def object_of(columns: Iterable[Any]) -> StoredObject:
    """Return the object of a complete row of storage_objects."""
    row = ObjectRow._make(columns)
    return StoredObject(
        live=bool(row.live),
        settings=json.loads(row.settings),
        state=FileState(size=row.size, mtime_ns=row.mtime_ns, inode=row.inode),
        **dict(zip(_AS_THEY_ARE, _plain(row), strict=True)),
    )


def row_of(stored: StoredObject) -> ObjectRow:
    """Return the row of an object."""
    return ObjectRow(
        live=int(stored.live),
        settings=json.dumps(stored.settings),
        **{name: getattr(stored.state, name) for name in _STATE},
        **dict(zip(_AS_THEY_ARE, _plain(stored), strict=True)),
    )
