"""Notes: small files in the stack's data folder that say what a deployment was about to do."""

from __future__ import annotations

import contextlib
from pathlib import Path

from vertex_emulator.kernel import ownership
from vertex_emulator.kernel.ownership import DataFolderError

KEPT = 1000
"""The most notes that a folder keeps; the oldest ones are deleted."""


def write(folder: Path, name: str, text: str) -> None:
    """Write a note. A full disk does not stop the deployment."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(DataFolderError):  # a note does no harm in a person's folder
            ownership.claim(folder.parent)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        written = [one for one in folder.iterdir() if ownership.NOTE.fullmatch(one.name)]
        notes = sorted(written, key=lambda one: one.stat().st_mtime)
        for one in notes[: max(0, len(notes) - KEPT)]:
            one.unlink(missing_ok=True)
