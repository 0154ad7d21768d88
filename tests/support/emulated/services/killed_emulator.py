"""An emulator in its own process, for tests that kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from support.emulated.job_emulator import JobEmulator
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.interpreter import interpreter
from vertex_emulator.kernel.disk.data_folder import DataFolder, read_token

PROGRAM = Path(__file__).with_name("emulator_that_dies.py")
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""The exit codes of a process that SIGKILL ended, and of the client of one in the warm interpreter."""


@contextmanager
def killed_after_block(data: Path) -> Iterator[JobEmulator]:
    """Run the emulator of that folder; SIGKILL ends it after the block."""
    folder = DataFolder(root=data)
    folder.record.unlink(missing_ok=True)
    process = subprocess.Popen(
        [interpreter(), "-m", "vertex_emulator", "--data-dir", str(data)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(folder.record.exists)
        record = json.loads(folder.record.read_text())
        daemon = SimpleNamespace(url=record["url"], token=read_token(folder), folder=folder)
        yield JobEmulator(daemon)  # type: ignore[arg-type]
        os.kill(record["pid"], signal.SIGKILL)
        process.wait(TIMEOUT)
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
        [interpreter(), PROGRAM, str(data), at],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(folder.record.exists)
        emulator = launcher.find(data)
        assert emulator is not None
        yield emulator
        assert process.wait(TIMEOUT) in KILLED
    finally:
        process.kill()
        process.wait()
