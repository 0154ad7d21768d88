"""The space that an emulator's caches take on the disk, whether it runs or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.replicas.images import folders
from vertex_emulator.replicas.preparation.packages import cache


def unpacked_images(data_dir: Path) -> folders.Usage:
    """Return the space of unpacked images and layers. Raises `OSError`."""
    return folders.usage(DataFolder(root=data_dir).images)


@dataclass(frozen=True, kw_only=True)
class PackageUse:
    """Installed packages: environments of requirements, and folders of code. Sizes are in bytes."""

    size: int
    limit: int
    environments: int
    packages: int

    def __str__(self) -> str:
        gib = 1 << 30
        shown = f"{self.size / gib:.1f} GiB" if self.size >= gib else f"{self.size >> 20} MiB"
        return (
            f"{shown} of at most {self.limit / gib:.0f} GiB (environments: {self.environments}, packages: "
            f"{self.packages})"
        )


def installed_packages(data_dir: Path) -> PackageUse:
    """Return the space of the packages that jobs have installed."""
    entries = cache.entries(DataFolder(root=data_dir).venvs)
    code = [entry for entry in entries if entry.path.parent.name == cache.CODE]
    return PackageUse(
        size=sum(entry.size for entry in entries),
        limit=cache.KEPT_BYTES,
        environments=len(entries) - len(code),
        packages=len(code),
    )
