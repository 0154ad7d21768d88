"""Keep the logs of a failed test: those of its emulators, jobs and engines."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

import pytest

_MOST_BYTES = 2 << 20
"""A larger log is left where it is."""

_MOST_FILES = 200


def keep(item: pytest.Item, folder: Path, *, since: float) -> str | None:
    """Copy the logs that were written since then below pytest's folder of this process.

    Return the name of the folder of the copies, or None if there is no log.
    """
    factory = getattr(item.config, "_tmp_path_factory", None)
    if factory is None:
        return None
    base = factory.getbasetemp()
    name = re.sub(r"[^\w.-]+", "-", item.nodeid)[-150:]
    target = folder / name
    for count, log in enumerate(_logs(base, since)):
        if count == _MOST_FILES:
            break
        copy = target / log.relative_to(base)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    return name if target.exists() else None


def _logs(base: Path, since: float) -> Iterator[Path]:
    for place, folders, names in os.walk(base):
        folders[:] = [each for each in folders if each not in ("buckets", "blobs", "site-packages", ".venv")]
        for name in names:
            log = Path(place) / name
            try:
                state = log.lstat()
            except OSError:
                continue
            wanted = name.endswith((".log", ".jsonl")) or name in ("stdout", "stderr")
            if wanted and state.st_mtime >= since and state.st_size <= _MOST_BYTES and S_ISREG(state.st_mode):
                yield log
