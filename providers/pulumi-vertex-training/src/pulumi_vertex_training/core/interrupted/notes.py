"""Write-ahead notes: small files in the stack's data folder that tell what a deployment was about to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import Settings
from vertex_emulator import DataFolderError, launcher, ownership

KEPT = 1000
"""The most notes that a folder keeps; the oldest ones are deleted."""


def folder(kind: str, settings: Settings | None = None) -> Path:
    """Return the folder of a kind of notes, `creations` or `deletions`, for resources anywhere."""
    return launcher.data_dir_of((settings or OPERATION.settings).data_dir) / kind


def write(note: Path, text: str) -> None:
    """Write a note. A full disk does not stop the deployment."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(DataFolderError):  # a note does no harm in a person's folder
            ownership.claim(note.parent.parent)
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
        written = [one for one in note.parent.iterdir() if ownership.NOTE.fullmatch(one.name)]
        notes = sorted(written, key=lambda one: one.stat().st_mtime)
        for one in notes[: max(0, len(notes) - KEPT)]:
            one.unlink(missing_ok=True)


def read(note: Path) -> str:
    """Return the text of a note, "" without one."""
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def listed(folder: Path, beginning: str = "") -> Iterator[Path]:
    """Yield the notes of a folder whose names begin like this, in order."""
    try:
        yield from sorted(one for one in folder.iterdir() if one.name.startswith(beginning))
    except OSError:
        return


def remove(note: Path) -> None:
    """Remove a note, if it is there."""
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
