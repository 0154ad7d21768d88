"""The space that an emulator's caches take on the disk, whether it runs or not."""

from __future__ import annotations

from pathlib import Path

from vertex_emulator.kernel.data_folder import DataFolder
from vertex_emulator.replica_images import folders


def unpacked_images(data_dir: Path) -> folders.Usage:
    """Return the space of unpacked images and layers. Raises `OSError`."""
    return folders.usage(DataFolder(root=data_dir).images)
