"""Files that are put aside for a person to decide about, in the folder `lost` of the data folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vertex_emulator.kernel.disk.data_folder import DataFolder


def put_aside(folder: DataFolder, paths: Iterable[Path]) -> Path | None:
    """Move files and folders of the data folder to a new folder in `lost`. Return it, or None without any."""
    place = folder.lost / secrets.token_hex(4)
    moved = False
    for path in paths:
        target = place / path.relative_to(folder.root)
        with suppress(OSError):  # on another disk, or without permissions: it stays
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(target)
            moved = True
    return place if moved else None
