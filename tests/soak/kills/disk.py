"""A small disk of a lane's own, in memory, that can be filled. Only root can mount one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.replicas.images.tree import RESERVED_BYTES

_BYTES = RESERVED_BYTES + (256 << 20)
"""The emulator unpacks no image unless that reserve is free."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A folder; `is_mounted`: it is a file system of its own, which can be full."""

    folder: Path
    is_mounted: bool

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> None:
        """Leave no free block."""
        with self._filler.open("ab", buffering=0) as file:
            free = shutil.disk_usage(self.folder).free
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, free)
            for size in (1 << 16, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    continue

    def free(self) -> None:
        """Give back what `fill` took."""
        self._filler.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Unmount the disk at the folder, if there is one; the folder itself stays."""
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", folder], check=False)


def make(folder: Path) -> Disk:
    """Mount a disk at the folder, if this process may."""
    folder.mkdir(parents=True)
    if os.geteuid():
        return Disk(folder=folder, is_mounted=False)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_BYTES},mode=0755", "soak", folder]
    done = subprocess.run(command, capture_output=True, check=False)
    return Disk(folder=folder, is_mounted=done.returncode == 0)
