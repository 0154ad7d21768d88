"""The records and files of the XML API's multipart uploads.

A part's file is complete before its record names it, and does not change later: a part that is sent again
gets a new file. The next start after a kill removes files without a record.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from vertex_emulator.kernel.clock import Clock, rfc3339
from vertex_emulator.kernel.database import Database
from vertex_emulator.services.storage.disk.files import StepHook
from vertex_emulator.services.storage.names import after_prefix

MAX_PARTS = 10_000
_FINISHED_LIFETIME = timedelta(days=7)
"""How long finished uploads are recorded, for clients that lost the response and repeat the call."""

_SCHEMA = (
    """
    CREATE TABLE storage_multipart_uploads (
        id TEXT PRIMARY KEY,
        bucket TEXT NOT NULL,
        bucket_generation INTEGER NOT NULL,
        name TEXT NOT NULL,
        started TEXT NOT NULL,
        settings TEXT NOT NULL,
        generation INTEGER
    );
    CREATE INDEX storage_multipart_names ON storage_multipart_uploads (bucket, name, id);
    CREATE TABLE storage_multipart_parts (
        upload TEXT NOT NULL REFERENCES storage_multipart_uploads (id),
        number INTEGER NOT NULL,
        file TEXT NOT NULL,
        size INTEGER NOT NULL,
        md5 TEXT NOT NULL,
        crc32c TEXT NOT NULL,
        modified TEXT NOT NULL,
        PRIMARY KEY (upload, number)
    ) WITHOUT ROWID;
    """,
)


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A multipart upload. `generation` is the finished object's, or None before."""

    id: str
    bucket: str
    bucket_generation: int
    name: str
    started: str
    settings: Mapping[str, Any]
    generation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of an upload. `md5` is hexadecimal, as in ETags; `crc32c` is in base64."""

    number: int
    file: str
    size: int
    md5: str
    crc32c: str
    modified: str


_PART = re.compile(r"[0-9a-f]{32}")


def is_part(path: Path) -> bool:
    """Return whether a path in objects-parts has the name of the emulator's files there."""
    return _PART.fullmatch(path.name) is not None


class Parts:
    """The store of all multipart uploads."""

    def __init__(
        self, database: Database, folder: Path, clock: Clock, *, step_hook: StepHook | None = None
    ) -> None:
        self._clock = clock
        self._database = database
        self._step: StepHook = step_hook or (lambda _: None)
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        database.migrate("storage_multipart", _SCHEMA)
        self._sweep()

    def begin(self, upload: Upload) -> None:
        self.remove_orphans()
        self._database.execute(
            "INSERT INTO storage_multipart_uploads VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (
                upload.id,
                upload.bucket,
                upload.bucket_generation,
                upload.name,
                upload.started,
                json.dumps(upload.settings),
            ),
        )

    def find(self, identifier: str) -> Upload | None:
        row = self._database.row("SELECT * FROM storage_multipart_uploads WHERE id = ?", (identifier,))
        return _upload(row) if row else None

    def uploads(
        self, bucket: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int
    ) -> list[Upload]:
        """Return unfinished uploads in order of name and id, after `after`."""
        upper = after_prefix(prefix)
        rows = self._database.rows(
            "SELECT * FROM storage_multipart_uploads WHERE bucket = ? AND generation IS NULL AND "
            "(name, id) > (?, ?) AND name >= ? AND (? IS NULL OR name < ?) ORDER BY name, id LIMIT ?",
            (bucket, *after, prefix, upper, upper, limit),
        )
        return [_upload(row) for row in rows]

    def unfinished(self, bucket: str) -> list[tuple[str, str, str]]:
        """Return the id, object name and start time of each unfinished upload in a bucket."""
        rows = self._database.rows(
            "SELECT id, name, started FROM storage_multipart_uploads WHERE bucket = ? AND generation IS NULL",
            (bucket,),
        )
        return [(row["id"], row["name"], row["started"]) for row in rows]

    def parts(self, identifier: str, *, after: int = 0, limit: int = MAX_PARTS) -> list[Part]:
        rows = self._database.rows(
            "SELECT * FROM storage_multipart_parts WHERE upload = ? AND number > ? ORDER BY number LIMIT ?",
            (identifier, after, limit),
        )
        return [
            Part(
                number=row["number"],
                file=row["file"],
                size=row["size"],
                md5=row["md5"],
                crc32c=row["crc32c"],
                modified=row["modified"],
            )
            for row in rows
        ]

    def put(self, identifier: str, part: Part) -> bool:
        """Record a part whose file is complete, instead of an earlier part with the same number.

        Return False if the upload does not exist or is finished.
        """
        self._step("record part")
        key = (identifier, part.number)
        with self._database.transaction() as connection:
            if (
                connection.execute(
                    "SELECT 1 FROM storage_multipart_uploads WHERE id = ? AND generation IS NULL",
                    (identifier,),
                ).fetchone()
                is None
            ):
                return False
            old = connection.execute(
                "SELECT file FROM storage_multipart_parts WHERE upload = ? AND number = ?", key
            ).fetchone()
            connection.execute(
                "INSERT OR REPLACE INTO storage_multipart_parts VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, part.file, part.size, part.md5, part.crc32c, part.modified),
            )
        self._unlink([old["file"]] if old is not None else [])
        return True

    def finish(self, identifier: str, generation: int | None) -> None:
        """Record the generation of the object that an upload became, or None if it failed."""
        self._database.execute(
            "UPDATE storage_multipart_uploads SET generation = ? WHERE id = ?", (generation, identifier)
        )

    def drop(self, identifier: str) -> None:
        """Remove the parts of a finished upload."""
        self._step("drop parts")
        self._unlink(self._forget_parts(identifier))

    def abort(self, identifier: str) -> None:
        with self._database.transaction() as connection:
            files = self._forget_parts(identifier)
            connection.execute("DELETE FROM storage_multipart_uploads WHERE id = ?", (identifier,))
        self._unlink(files)

    def new_file(self) -> Path:
        return self._folder / secrets.token_hex(16)

    def path(self, file: str) -> Path:
        return self._folder / file

    def _forget_parts(self, identifier: str) -> Sequence[str]:
        with self._database.transaction() as connection:
            rows = connection.execute(
                "SELECT file FROM storage_multipart_parts WHERE upload = ?", (identifier,)
            ).fetchall()
            connection.execute("DELETE FROM storage_multipart_parts WHERE upload = ?", (identifier,))
        return [row["file"] for row in rows]

    def _unlink(self, files: Sequence[str]) -> None:
        for file in files:
            with suppress(OSError):
                self.path(file).unlink()

    def remove_orphans(self) -> None:
        """Remove the uploads of deleted buckets, and those finished long ago."""
        long_ago = rfc3339(self._clock.moment() - _FINISHED_LIFETIME)
        rows = self._database.rows(
            "SELECT id FROM storage_multipart_uploads WHERE (generation IS NOT NULL AND started < ?) OR NOT "
            "EXISTS (SELECT 1 FROM storage_buckets AS b WHERE b.name = bucket AND "
            "b.generation = bucket_generation)",
            (long_ago,),
        )
        for row in rows:
            self.abort(row["id"])

    def _sweep(self) -> None:
        self.remove_orphans()
        self._database.execute(
            "DELETE FROM storage_multipart_parts WHERE upload IN "
            "(SELECT id FROM storage_multipart_uploads WHERE generation IS NOT NULL)"
        )
        rows = self._database.rows("SELECT file FROM storage_multipart_parts")
        wanted = {row["file"] for row in rows}
        for path in self._folder.iterdir():
            if path.name not in wanted and is_part(path):
                path.unlink(missing_ok=True)


def _upload(row: sqlite3.Row) -> Upload:
    return Upload(
        id=row["id"],
        bucket=row["bucket"],
        bucket_generation=row["bucket_generation"],
        name=row["name"],
        started=row["started"],
        settings=json.loads(row["settings"]),
        generation=row["generation"],
    )
