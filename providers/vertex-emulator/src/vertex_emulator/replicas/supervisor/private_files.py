"""Removal of what a replica had for itself alone when it ends: changes to its image, and installed packages.

They may be thousands, so that another process removes them: the supervisor has to see the ends of replicas.
"""

from __future__ import annotations

import contextlib
import subprocess
from itertools import count
from pathlib import Path

from vertex_emulator.job_folder.folder import PRIVATE, REMOVED
from vertex_emulator.kernel import machine_clock


class PrivateFiles:
    """Removes private files of the replicas of one job; what is left then goes with the job's folder."""

    def __init__(self, job_folder: Path) -> None:
        self._folder = job_folder / REMOVED
        self._numbers = count(1)
        self._running: list[subprocess.Popen[bytes]] = []

    def remove(self, replica_folder: Path) -> None:
        """Remove the private files of an ended replica, if it has any. Does not wait for that."""
        self._running = [each for each in self._running if each.poll() is None]
        moved = []
        for name in PRIVATE:
            away = self._folder / str(next(self._numbers))
            with contextlib.suppress(OSError):  # the replica has none, or the job was deleted
                self._folder.mkdir(exist_ok=True)
                (replica_folder / name).rename(away)
                moved.append(str(away))
        if moved:
            with contextlib.suppress(OSError):
                self._running.append(
                    subprocess.Popen(  # noqa: S603
                        ["rm", "-rf", "--", *moved],  # noqa: S607
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )

    def finish(self, *, seconds: float) -> None:
        """Wait until the files are removed, for `seconds` at most."""
        latest = machine_clock.monotonic() + seconds
        for each in self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.wait(max(0.0, latest - machine_clock.monotonic()))
        with contextlib.suppress(OSError):
            self._folder.rmdir()
