"""Run other programs, and hold a lock against other chores."""

from __future__ import annotations

import fcntl
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from scripts.report import ChoreError, Step


def run_quietly(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_line: Callable[[str], None] | None = None,
    failure: str = "",
    remedy: str = "",
    tail: int = 25,
) -> str:
    """Run a program whose output matters only if it fails, and return the output.

    Each line is passed to `on_line` as it is printed. Raises ChoreError with `failure` (default: the first
    words of the command), the last `tail` lines and `remedy` if the program cannot be started or fails.
    """
    command = [str(part) for part in argv]
    failure = failure or " ".join(command[:2])
    lines: list[str] = []
    last: deque[str] = deque(maxlen=tail)
    try:
        process = subprocess.Popen(  # noqa: S603 (programs of this clone and of the user's PATH, no shell)
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ChoreError(f"{failure}: {command[0]} cannot be started: {error.strerror}.") from error
    with process:
        try:
            for raw in process.stdout or ():
                line = raw.rstrip()
                lines.append(line)
                last.append(line)
                if line and on_line is not None:
                    on_line(line)
            code = process.wait()
        except BaseException:
            process.terminate()
            raise
    if code != 0:
        parts = [
            f"{failure} ({Path(command[0]).name} ended with code {code}).",
            *(f"  | {line}" for line in last),
        ]
        raise ChoreError("\n".join([*parts, remedy] if remedy else parts))
    return "\n".join(lines)


def run_openly(argv: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> int:
    """Run a program on the user's terminal and return its exit code.

    Ctrl-C is left to the program, and SIGTERM is passed on to it.
    """
    previous = signal.signal(signal.SIGINT, _leave_it_to_the_program)
    before = signal.getsignal(signal.SIGTERM)
    try:
        process = subprocess.Popen([str(part) for part in argv], cwd=cwd, env=dict(env))  # noqa: S603
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, previous)
        signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code


def _leave_it_to_the_program(_signal: int, _frame: FrameType | None) -> None:
    """Ignore the signal. With SIG_IGN, the started program would ignore it as well."""


@contextmanager
def alone(file: Path, step: Step) -> Iterator[None]:
    """Hold the lock file. While another process holds it, wait and report so."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("w")
    except OSError as error:
        raise ChoreError(f"{file.parent} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step.progress("waiting for another setup to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
