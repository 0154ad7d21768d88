"""Run a local command about the end of a run: without a shell, and without the emulator's own variables."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts

SECONDS = 60.0
_PASSED = re.compile(r"HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|LC_.*|TZ|TMPDIR")


def run(
    command: Sequence[str],
    variables: Mapping[str, str],
    document: bytes,
    *,
    output: Path,
    seconds: float = SECONDS,
    timeouts: DaemonTimeouts = DAEMON,
) -> str:
    """Run a command with a document on its standard input. Return "", or what went wrong.

    Its working directory is the user's home. Its output goes to a private file, `output`. After `seconds` it
    is ended with all processes of its group.
    """
    environment = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    home = environment.get("HOME") or str(Path.home())
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        return "the program was not found, or cannot be executed"
    try:
        output.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            process = subprocess.Popen(  # noqa: S603 - the command is the user's own, and there is no shell
                list(command),
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=home if Path(home).is_dir() else "/",
                env={**environment, **variables},
                start_new_session=True,
            )
    except OSError as error:
        return f"the program could not be started: {error.strerror or type(error).__name__}"
    try:
        process.communicate(document, timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process, seconds=timeouts.command_end)
        return f"the command did not end within {seconds:g} s; its output is in {output}"
    return _ended(process.returncode, output)


def _ended(code: int, output: Path) -> str:
    if code == 0:
        return ""
    how = f"exit code {code}" if code > 0 else f"signal {-code}"
    return f"the command ended with {how}; its output is in {output}"


def _end(process: subprocess.Popen[bytes], *, seconds: float) -> None:
    """End a process with its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=seconds)
