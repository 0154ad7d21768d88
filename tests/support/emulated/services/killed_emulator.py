"""An emulator in its own process, for tests that kill it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from support.emulated.job_emulator import JobEmulator
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.kernel.disk.data_folder import DataFolder, read_token

_KILLS_ITSELF = """
import os, signal, sys, threading
from pathlib import Path
from vertex_emulator.daemon.daemon import Daemon, Settings

folder, fatal = sys.argv[1:]

def kill(step):
    if step == fatal:
        os.kill(os.getpid(), signal.SIGKILL)

Daemon(Settings(data_dir=Path(folder), step_hook=kill)).start()
threading.Event().wait()
"""


@contextmanager
def killed_after_block(data: Path) -> Iterator[JobEmulator]:
    """Run the emulator of that folder; SIGKILL ends it after the block."""
    folder = DataFolder(root=data)
    folder.record.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "vertex_emulator", "--data-dir", str(data)],
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


@contextmanager
def killed_before_step(data: Path, *, at: str) -> Iterator[launcher.Emulator]:
    """Run the emulator of that folder; it sends itself SIGKILL right before the step `at` of its store.

    The block makes the fatal request. Fails if the emulator is still alive afterwards.
    """
    folder = DataFolder(root=data)
    folder.record.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLS_ITSELF, str(data), at],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(folder.record.exists)
        emulator = launcher.find(data)
        assert emulator is not None
        yield emulator
        assert process.wait(TIMEOUT) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
