"""Multipart uploads of the XML API as the data folder holds them: records, and a file for each part.

A part's file is complete before its record names it, and is not changed afterwards: a part that is sent again
gets a file of its own. What a killed emulator left behind is removed at the next start.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.kernel.database import Database
from vertex_emulator.storage.names import after_prefix

MOST_PARTS = 10_000
_REMEMBERED = timedelta(days=7)
"""A finished upload is remembered so long, for clients that did not hear that it is."""

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
    """`generation` is the one of the object that it became, None while it has not."""

    id: str
    bucket: str
    bucket_generation: int
    name: str
    started: str
    settings: Mapping[str, Any]
    generation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    """`md5` in hexadecimal, as ETags have it; `crc32c` in base64."""

    number: int
    file: str
    size: int
    md5: str
    crc32c: str
    modified: str


class Parts:
    """Records and files of all multipart uploads."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        database.migrate("storage_multipart", _SCHEMA)
        self._sweep()

    def begin(self, upload: Upload) -> None:
        self.forget_strays()
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
        """Those that are not finished, by name and id, beyond `after`."""
        upper = after_prefix(prefix)
        rows = self._database.rows(
            "SELECT * FROM storage_multipart_uploads WHERE bucket = ? AND generation IS NULL AND "
            "(name, id) > (?, ?) AND name >= ? AND (? IS NULL OR name < ?) ORDER BY name, id LIMIT ?",
            (bucket, *after, prefix, upper, upper, limit),
        )
        return [_upload(row) for row in rows]

    def unfinished(self, bucket: str) -> list[tuple[str, str, str]]:
        """Id, object's name and time of begin of each upload in a bucket."""
        rows = self._database.rows(
            "SELECT id, name, started FROM storage_multipart_uploads WHERE bucket = ? AND generation IS NULL",
            (bucket,),
        )
        return [(row["id"], row["name"], row["started"]) for row in rows]

    def parts(self, identifier: str, *, after: int = 0, limit: int = MOST_PARTS) -> list[Part]:
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
        """Record a part whose file is complete; one of the same number is replaced.

        False where there is no such upload, or it is finished.
        """
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
        """The upload has become the object of that generation; None: it has not."""
        self._database.execute(
            "UPDATE storage_multipart_uploads SET generation = ? WHERE id = ?", (generation, identifier)
        )

    def drop(self, identifier: str) -> None:
        """Remove the parts of a finished upload."""
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

    def forget_strays(self) -> None:
        """Forget the uploads of buckets that are gone, and those that were finished long ago."""
        long_ago = rfc3339(datetime.now(timezone.utc) - _REMEMBERED)
        rows = self._database.rows(
            "SELECT id FROM storage_multipart_uploads WHERE (generation IS NOT NULL AND started < ?) OR NOT "
            "EXISTS (SELECT 1 FROM storage_buckets AS b WHERE b.name = bucket AND "
            "b.generation = bucket_generation)",
            (long_ago,),
        )
        for row in rows:
            self.abort(row["id"])

    def _sweep(self) -> None:
        self.forget_strays()
        self._database.execute(
            "DELETE FROM storage_multipart_parts WHERE upload IN "
            "(SELECT id FROM storage_multipart_uploads WHERE generation IS NOT NULL)"
        )
        rows = self._database.rows("SELECT file FROM storage_multipart_parts")
        wanted = {row["file"] for row in rows}
        for path in self._folder.iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)


def _upload(row: Any) -> Upload:
    return Upload(
        id=row["id"],
        bucket=row["bucket"],
        bucket_generation=row["bucket_generation"],
        name=row["name"],
        started=row["started"],
        settings=json.loads(row["settings"]),
        generation=row["generation"],
    )
