"""The deletions of jobs that began on this machine, so that an interrupted one is not taken for the user's.

Deleting a live job cancels it first. If the deployment is killed in between, the service has a cancelled job
and cannot say who cancelled it, and Pulumi's state has the job as before. The note that a deletion has begun
is an empty file, named by the job, in the folder `deletions` of the stack's data folder (`dataDir`), for jobs
on Google Cloud as well. It is written before the job is cancelled and stays: no id is used again.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.runs.policies.run_status import LastRun, LookupResult, last_run
from vertex_emulator import launcher

KEPT = 1000
"""The most notes that are kept; the oldest ones are deleted."""

_STOPPED = frozenset({LastRun.CANCELLED, LastRun.CANCELLING, LastRun.GONE})


def note(name: str) -> None:
    """Note that the deletion of the job with this full name begins. A full disk does not stop it."""
    folder = _folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / _file(name)).touch(mode=0o600)
        notes = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)
        for one in notes[: max(0, len(notes) - KEPT)]:
            one.unlink(missing_ok=True)


def has_begun(name: str) -> bool:
    """Return whether the deletion of the job with this full name has begun."""
    return (_folder() / _file(name)).exists()


def stopped(seen: str | LookupResult) -> bool:
    """Return whether a deletion that has begun came so far that the job is cancelled or gone."""
    return last_run("", seen) in _STOPPED


def _folder() -> Path:
    return launcher.data_dir_of(OPERATION.settings.data_dir) / "deletions"


def _file(name: str) -> str:
    return "-".join(name.split("/")[-2:])
