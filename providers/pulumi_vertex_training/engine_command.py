"""The Pulumi CLI that runs this process, found among the process's ancestors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.timeouts import Timeouts

_CLI = re.compile(r"\.?pulumi(-wrapped)?(-?v?\d[\w.-]*)?(\.exe)?")
"""Names of the CLI's file: `pulumi`, with a version, or as Nix names it. The CLI's plugins have others."""

_PROCESSES = Path("/proc")
_FIRST_PROCESS = 1


@dataclass(frozen=True, kw_only=True)
class EngineCommand:
    """A command of the Pulumi CLI that is running. `folder` is its working directory, None if not known."""

    program: str
    arguments: Sequence[str]
    folder: Path | None = None

    def stack_named(self, stack: str) -> str | None:
        """Return the reference by which the command names the stack `stack`, None if it names none.

        A reference may have an organization and a project: ORGANIZATION/PROJECT/STACK.
        """
        found = None
        for option, value in zip(self.arguments, [*self.arguments[1:], ""], strict=True):
            if option.startswith("--stack="):
                reference = option.removeprefix("--stack=")
            elif option in ("-s", "--stack"):
                reference = value
            else:
                reference = option.removeprefix("-s") if option.startswith("-s") else ""
            if reference.rpartition("/")[2] == stack:
                found = reference
        return found


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process. `program` is the path or the name of its file, "" if it may not be read."""

    parent: int
    program: str
    arguments: Sequence[str]
    folder: Path | None = None


def find(timeouts: Timeouts, describe: Callable[[int], Process | None] | None = None) -> EngineCommand | None:
    """Return the nearest ancestor that is the Pulumi CLI, or None if no ancestor is, or if its file is gone.

    `describe` returns a process by its id, None if there is no such process.
    """
    describe = describe or (lambda pid: from_proc(pid) if _has_proc() else from_ps(pid, timeouts))
    pid = os.getppid()
    while pid > _FIRST_PROCESS and (process := describe(pid)) is not None:
        if _CLI.fullmatch(Path(process.program).name):
            program = shutil.which(process.program) or shutil.which(Path(process.program).name)
            if program is None:
                return None
            return EngineCommand(
                program=program, arguments=tuple(process.arguments[1:]), folder=process.folder
            )
        pid = process.parent
    return None


def _has_proc() -> bool:
    return (_PROCESSES / "self" / "stat").exists()


def from_proc(pid: int) -> Process | None:
    """Return a process as Linux describes it."""
    folder = _PROCESSES / str(pid)
    try:
        parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        arguments = (folder / "cmdline").read_text(errors="replace").split("\0")[:-1]
    except (OSError, IndexError, ValueError):  # it has ended
        return None
    try:
        program, place = str((folder / "exe").readlink()), (folder / "cwd").readlink()
    except OSError:  # it is another user's
        return Process(parent=parent, program="", arguments=arguments)
    return Process(parent=parent, program=program, arguments=arguments, folder=place)


def from_ps(pid: int, timeouts: Timeouts) -> Process | None:
    """Return a process as `ps` describes it, for systems without /proc, such as macOS."""
    described = [_column(name, pid, timeouts) for name in ("ppid", "comm", "args")]
    parent, program, arguments = described
    if not parent.isdigit():
        return None
    return Process(parent=int(parent), program=program, arguments=arguments.split())


def _column(name: str, pid: int, timeouts: Timeouts) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            ["ps", "-ww", "-o", f"{name}=", "-p", str(pid)],  # noqa: S607
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeouts.process_list,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
