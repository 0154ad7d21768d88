"""Removal of an emulator's caches, whether it runs or not: unpacked images, and packages that jobs installed.

They stay when a stack is destroyed, because the next job of the same image starts sooner with them. What a
live job uses is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.daemon import disk_use
from vertex_emulator.kernel.disk import data_folder, ownership
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.replicas.images import folders
from vertex_emulator.replicas.preparation.packages import cache


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """The bytes that were freed, by cache, and those that are `kept`, because live jobs use them."""

    unpacked_images: int = 0
    installed_packages: int = 0
    kept: int = 0

    @property
    def freed(self) -> int:
        """The bytes that were freed in both caches."""
        return self.unpacked_images + self.installed_packages


def prune(data_dir: Path) -> Pruned:
    """Remove the unpacked images and the installed packages that no live job uses.

    Does nothing to a folder that is not the emulator's. Raises `DataFolderError`.
    """
    folder = DataFolder(root=data_dir)
    if not ownership.is_own(data_dir):
        return Pruned()
    try:
        images, packages = _sizes(data_dir)
        if folder.images.is_dir():
            folders.clean(folder.images, keep_bytes=0)
        cache.clean(folder.venvs, keep_bytes=0)
        images_left, packages_left = _sizes(data_dir)
    except OSError as error:
        raise data_folder.unusable(data_dir, error) from error
    return Pruned(
        unpacked_images=max(images - images_left, 0),
        installed_packages=max(packages - packages_left, 0),
        kept=images_left + packages_left,
    )


def _sizes(data_dir: Path) -> tuple[int, int]:
    return disk_use.unpacked_images(data_dir).size, disk_use.installed_packages(data_dir).size
