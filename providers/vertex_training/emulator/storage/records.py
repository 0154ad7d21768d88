"""Buckets and objects as the database holds them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = (
    """
    CREATE TABLE storage_buckets (
        name TEXT PRIMARY KEY,
        project TEXT NOT NULL,
        generation INTEGER NOT NULL,
        metageneration INTEGER NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        settings TEXT NOT NULL
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
        PRIMARY KEY (bucket, name, generation)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX storage_live_objects ON storage_objects (bucket, name) WHERE live;
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


@dataclass(frozen=True, kw_only=True)
class FileState:
    """What tells whether a file is still the one that was recorded."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """`settings` are the resource's fields that its owner chooses, in their JSON form, defaults filled in."""

    name: str
    project: str
    generation: int
    metageneration: int
    created: str
    updated: str
    settings: Mapping[str, Any]

    @property
    def etag(self) -> str:
        return etag(self.metageneration)

    @property
    def keeps_versions(self) -> bool:
        return bool(self.settings.get("versioning", {}).get("enabled"))


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """One generation of an object.

    `settings` are the resource's fields that its owner chooses, such as contentType and metadata. The content
    is the file `aside` in the folder objects-aside, or at the object's natural path when that is None.
    `incoming` is the name that the file had before it was put there: after a crash it may still be there.
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

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def etag(self) -> str:
        return etag(self.generation, self.metageneration)


def etag(*numbers: int) -> str:
    """As the service makes them: a protocol buffer of the numbers, in base64."""
    data = bytearray()
    for index, number in enumerate(numbers, start=1):
        data.append(index << 3)
        while number >= 0x80:
            data.append(number & 0x7F | 0x80)
            number >>= 7
        data.append(number)
    return base64.b64encode(data).decode("ascii")


def bucket_of(row: sqlite3.Row) -> Bucket:
    """The bucket of a row of storage_buckets."""
    return Bucket(
        name=row["name"],
        project=row["project"],
        generation=row["generation"],
        metageneration=row["metageneration"],
        created=row["created"],
        updated=row["updated"],
        settings=json.loads(row["settings"]),
    )


def object_of(row: sqlite3.Row) -> StoredObject:
    """The object of a row of storage_objects."""
    return StoredObject(
        bucket=row["bucket"],
        name=row["name"],
        generation=row["generation"],
        metageneration=row["metageneration"],
        live=bool(row["live"]),
        crc32c=row["crc32c"],
        md5=row["md5"],
        created=row["created"],
        updated=row["updated"],
        deleted=row["deleted"],
        settings=json.loads(row["settings"]),
        aside=row["aside"],
        incoming=row["incoming"],
        state=FileState(size=row["size"], mtime_ns=row["mtime_ns"], inode=row["inode"]),
    )
