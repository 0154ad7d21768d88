"""An emulator in a process of its own, for tests that kill it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from support.job_emulator import JobEmulator
from support.waiting import eventually
from vertex_training.emulator.data_folder import DataFolder, read_token


@contextmanager
def to_be_killed(data: Path) -> Iterator[JobEmulator]:
    """The emulator of that folder; killed with SIGKILL at the end of the block."""
    folder = DataFolder(root=data)
    folder.record.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "vertex_training.emulator", "--data-dir", str(data)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(folder.record.exists)
        url = json.loads(folder.record.read_text())["url"]
        daemon = SimpleNamespace(url=url, token=read_token(folder), folder=folder)
        yield JobEmulator(daemon)  # type: ignore[arg-type]
    finally:
        process.kill()
        process.wait()
