"""One at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.errors import ChoreError
from scripts.report import Step


@contextmanager
def alone(file: Path, step: Step) -> Iterator[None]:
    """Hold the lock file; wait, and say so, while another process holds it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("w")
    except OSError as error:
        raise ChoreError(f"The folder {file.parent} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step.say("waiting for another set-up that is at work")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
