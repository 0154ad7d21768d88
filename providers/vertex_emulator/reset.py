"""Reset of an emulator: ends its jobs, stops its daemon, and deletes its records.

The cached virtual environments are kept, because they belong to no job; so are the token and the log.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator import launcher
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel import data_folder, machine_clock
from vertex_emulator.kernel.data_folder import DataFolder, DataFolderError
from vertex_emulator.kernel.locks import LockHeldError, locked
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_emulator.notifications import subscriptions

_POLL_SECONDS = 0.05


class ResetError(Exception):
    """The emulator could not be reset; the message has the reason."""


@dataclass(frozen=True, kw_only=True)
class ResetResult:
    """The result of a reset: a stopped daemon, the number of ended jobs, and whether files were deleted."""

    stopped: bool
    ended_jobs: int
    deleted: bool


def reset(data_dir: Path, *, timeouts: ClientTimeouts = CLIENT) -> ResetResult:
    """Reset the emulator of a data folder.

    Raises `ResetError` if a job does not end in time; then nothing has been deleted.
    """
    folder = DataFolder(root=data_dir)
    if not (folder.lock.exists() or folder.database.exists()):
        return ResetResult(stopped=False, ended_jobs=0, deleted=False)
    try:
        # The start lock prevents the start of another daemon before all is deleted.
        with locked(folder.start_lock, timeout=timeouts.folder):
            stopped = launcher.stop(data_dir, timeouts=timeouts)
            live = _end_jobs(folder, timeouts)
            with locked(folder.lock, timeout=timeouts.folder):
                return ResetResult(stopped=stopped, ended_jobs=live, deleted=_delete(folder))
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


def _delete(folder: DataFolder) -> bool:
    """Delete the emulator's own files. The folder may have other files."""
    found = False
    for path in (folder.jobs, folder.buckets, folder.aside, folder.incoming, folder.registry):
        found = found or (path.is_dir() and any(path.iterdir()))
        if path.exists():
            shutil.rmtree(path)
    subscriptions.remove_all(folder.root)
    folder.clock.unlink(missing_ok=True)
    for path in folder.root.glob(f"{folder.database.name}*"):
        found = True
        path.unlink()
    return found
