"""Reset of an emulator: ends its jobs, stops its daemon, and deletes its records.

The cached virtual environments are kept, because they belong to no job; so are the token and the log. A file
that the emulator did not make is kept as well: it may be a person's.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.client import launcher
from vertex_emulator.job_folder import folder as job_folder
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.notifications import subscriptions
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import data_folder, ownership
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError
from vertex_emulator.kernel.disk.locks import LockHeldError, locked
from vertex_emulator.kernel.disk.trees import is_empty, mounts_in, remove_tree
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_emulator.services.container_registry.blobs import BlobFiles
from vertex_emulator.services.storage.disk.files import is_aside, is_incoming
from vertex_emulator.services.storage.xml.parts import is_part

_POLL_SECONDS = 0.05


class ResetError(Exception):
    """The emulator could not be reset; the message has the reason."""


@dataclass(frozen=True, kw_only=True)
class ResetResult:
    """The result of a reset: a stopped daemon, the number of ended jobs, and whether files were deleted.

    `kept` are the files and folders in the folders for data that the emulator did not make.
    """

    stopped: bool
    ended_jobs: int
    deleted: bool
    kept: tuple[Path, ...] = ()


def reset(data_dir: Path, *, timeouts: ClientTimeouts = CLIENT) -> ResetResult:
    """Reset the emulator of a data folder.

    Raises `ResetError` if the folder is not the emulator's, or if a job does not end in time; then nothing
    has been deleted.
    """
    folder = DataFolder(root=data_dir)
    try:
        if not ownership.is_own(data_dir):
            return ResetResult(stopped=False, ended_jobs=0, deleted=False)
        # The start lock prevents the start of another daemon before all is deleted.
        with locked(folder.start_lock, timeout=timeouts.folder):
            stopped = launcher.stop(data_dir, timeouts=timeouts)
            live = _end_jobs(folder, timeouts)
            with locked(folder.lock, timeout=timeouts.folder):
                deleted, kept = _delete(folder)
                return ResetResult(stopped=stopped, ended_jobs=live, deleted=deleted, kept=kept)
    except (launcher.LauncherError, DataFolderError) as error:
        raise ResetError(str(error)) from error
    except LockHeldError as error:
        raise ResetError(
            f"{data_dir} is in use by process {error.holder or '(unknown)'}. Try again when it has ended."
        ) from error
    except OSError as error:
        raise ResetError(str(data_folder.unusable(data_dir, error))) from error


def stop_and_end_jobs(data_dir: Path, *, timeouts: ClientTimeouts = CLIENT) -> None:
    """Stop the daemon and end all jobs, without deleting anything. Raises `ResetError`."""
    folder = DataFolder(root=data_dir)
    try:
        launcher.stop(data_dir, timeouts=timeouts)
    except launcher.LauncherError as error:
        raise ResetError(str(error)) from error
    finally:
        _end_jobs(folder, timeouts)


def _end_jobs(folder: DataFolder, timeouts: ClientTimeouts) -> int:
    """Request the end of all jobs and wait for it. The supervisors end their replicas: TERM, grace, KILL."""
    jobs = [JobFolder(path) for path in sorted(folder.jobs.glob("*")) if path.is_dir()]
    live = [job for job in jobs if job.is_held()]
    for job in live:
        job.cancel.touch()
        job.ring()
        timeouts = timeouts.at_least(job.timeout_scale)
    until = machine_clock.monotonic() + timeouts.jobs_end
    for job in live:
        while job.is_held():
            if machine_clock.monotonic() >= until:
                raise ResetError(
                    f"Job {job.path.name} has not ended within {timeouts.jobs_end:g} s, so nothing was "
                    f"deleted. See {job.supervisor_log}."
                )
            machine_clock.sleep(_POLL_SECONDS)
    return len(live)


def _delete(folder: DataFolder) -> tuple[bool, tuple[Path, ...]]:
    """Delete the emulator's own files. Return whether there were any, and the other files beside them.

    Raises `ResetError` if a file system is mounted in what is to be deleted; then nothing was deleted.
    """
    database = folder.database
    jobs, buckets = _recorded(database, "custom_jobs", "id"), _recorded(database, "storage_buckets", "name")
    own: Mapping[Path, Callable[[Path], bool]] = {
        folder.jobs: lambda path: path.name in jobs or job_folder.is_own(path),
        folder.buckets: lambda path: path.name in buckets or is_empty(path),
        folder.aside: is_aside,
        folder.incoming: is_incoming,
        folder.parts: is_part,
    }
    entries = {place: sorted(place.iterdir()) if place.is_dir() else [] for place in own}
    to_delete = [path for place, is_own in own.items() for path in entries[place] if is_own(path)]
    if mounted := [place for path in to_delete for place in mounts_in(path)]:
        raise ResetError(
            f"A file system is mounted at {mounted[0]}, so nothing was deleted: its files may be yours. Try "
            f"again when it is unmounted: umount {shlex.quote(str(mounted[0]))}"
        )
    for path in to_delete:
        remove_tree(path)
    found = bool(to_delete)
    kept = [path for paths in entries.values() for path in paths if path not in to_delete]
    if folder.registry.is_dir():
        blobs = BlobFiles(folder.registry)
        found |= blobs.remove_all()
        blobs.remove_folders()
        kept += sorted(path for path in folder.registry.rglob("*") if not path.is_dir())
    for place in (*own, folder.registry):
        with suppress(OSError):  # it has files of a person, or is a link
            place.rmdir()
    subscriptions.remove_all(folder.root)
    folder.clock.unlink(missing_ok=True)
    for ending in ("-wal", "-shm", "-journal", ""):  # the database last: a new one would read an old log
        path = database.with_name(f"{database.name}{ending}")
        found |= path.exists()
        path.unlink(missing_ok=True)
    return found, tuple(kept)


def _recorded(database: Path, table: str, column: str) -> Collection[str]:
    """Return a column of a table, or nothing if the database is missing or damaged."""
    with suppress(sqlite3.Error):
        if database.is_file():
            with closing(sqlite3.connect(database)) as connection:
                rows = connection.execute(f"SELECT {column} FROM {table}")  # noqa: S608 - names of ours
                return {value for (value,) in rows}
    return ()
