"""Files of the emulator that no record names any longer: they are put aside, and a person decides.

If the database was deleted or moved away because it was damaged, the next start finds jobs, versions of
objects and blobs that nobody knows. They look like the remains of a killed start, which are deleted; so they
are moved into a folder of their own first. Buckets stay: their files are objects again once the bucket is
created.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from vertex_emulator.job_folder import folder as job_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.disk.lost import put_aside

log = logging.getLogger(__name__)

NOTE = "README.txt"
_SHOWN = 5


def put_aside_unrecorded(folder: DataFolder) -> str:
    """Put aside what a new database does not know. Return a warning that names it, or "".

    Call it under the lock of the folder, before the database is created.
    """
    if folder.database.exists():
        return ""
    jobs = [path for path in _entries(folder.jobs) if path.name[0] != "." and job_folder.is_own(path)]
    versions = _entries(folder.aside)
    blobs = [path for path in _entries(folder.registry / "blobs") if any(path.rglob("*"))]
    buckets = [path.name for path in _entries(folder.buckets)]
    moved = [*jobs, *versions, *blobs]
    if not moved and not buckets:
        return ""
    parts = [
        (f"jobs with their logs: {len(jobs)}", jobs),
        (f"old versions of objects: {len(versions)}", versions),
        ("images of the registry", blobs),
        (f"settings and metadata of the buckets {_some(buckets)}", buckets),
    ]
    text = f"warning: the database of {folder.root} is new, and has no record of what was there before: "
    text += "; ".join(name for name, found in parts if found) + "."
    if buckets:
        text += " The files of buckets are in buckets/: create a bucket with the same name to get them back."
    if (place := put_aside(folder, moved)) is not None:
        text += f" The other files are in {place}. Delete that folder when you do not need them."
        with suppress(OSError):
            (place / NOTE).write_text(f"{text}\n", encoding="utf-8")
    log.warning("%s", text)
    return text


def _entries(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else []


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
