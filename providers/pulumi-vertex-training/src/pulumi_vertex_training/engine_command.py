"""The Pulumi CLI that runs this process, found among the process's ancestors."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.timeouts import Timeouts

_CLI = re.compile(r"\.?pulumi(-wrapped)?(-?v?\d[\w.-]*)?(\.exe)?")
"""Names of the CLI's file: `pulumi`, with a version, or as Nix names it. The CLI's plugins have others."""

_DEPLOYS = frozenset({"up", "update", "preview", "pre"})
_REMOVES_OR_READS = frozenset({"destroy", "down", "dn", "refresh"})
_PLAN_OPTIONS = frozenset({"--plan", "--strict"})

_PROCESSES = Path("/proc")
_START = 19
"""Position of the start of a process in /proc/PID/stat, after its name."""
_FIRST_PROCESS = 1
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")


@dataclass(frozen=True, kw_only=True)
class EngineCommand:
    """A command of the Pulumi CLI that is running. `folder` is its working directory, None if not known.

    `identity` tells it from every other command, of this machine and of others; "" if not known. `terminal`
    is true if its input and output are a terminal.
    """

    program: str
    arguments: Sequence[str]
    folder: Path | None = None
    identity: str = ""
    terminal: bool = False

    @property
    def draws_table(self) -> bool:
        """Return whether it draws its table of resources again and again, instead of lines one after another.

        That is what the CLI does on a terminal, if no option and no variable of a CI system prevents it.
        """
        options = {"--non-interactive", "--non-interactive=true", "--diff", "--json", "-j"}
        variables = ("CI" in os.environ, os.environ.get("TERM") == "dumb")
        return self.terminal and not any(variables) and options.isdisjoint(self.arguments)

    @property
    def deploys(self) -> bool:
        """Return whether it makes what the program declares; false for a destroy or a refresh.

        Both run the program if they have `--run-program`.
        """
        words = (word for word in self.arguments if word in _DEPLOYS | _REMOVES_OR_READS)
        return next(words, "") not in _REMOVES_OR_READS

    @property
    def has_plan(self) -> bool:
        """Return whether it follows an update plan, as it does by an option."""
        return any(word.partition("=")[0] in _PLAN_OPTIONS for word in self.arguments)

    @property
    def plan_file(self) -> Path | None:
        """The file of the update plan that it follows, None without one."""
        for option, value in zip(self.arguments, [*self.arguments[1:], ""], strict=True):
            name, _, given = option.partition("=")
            if name == "--plan" and (file := given or value) and not file.startswith("-"):
                return (self.folder or Path()) / file
        return None

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
    """A process. `program` is the path or the name of its file, "" if it may not be read.

    `started` is the time of its start as the system writes it, "" if not known. `terminal` is true if its
    input and output are known to be a terminal.
    """

    parent: int
    program: str
    arguments: Sequence[str]
    folder: Path | None = None
    started: str = ""
    terminal: bool = False


@functools.lru_cache(maxsize=1)
def of_this_process(timeouts: Timeouts) -> EngineCommand | None:
    """Return what `find` finds, which only the first call looks for."""
    return find(timeouts)


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
                program=program,
                arguments=tuple(process.arguments[1:]),
                folder=process.folder,
                identity=_identity(pid, process),
                terminal=process.terminal,
            )
        pid = process.parent
    return None


def _identity(pid: int, process: Process) -> str:
    """Return a text that no other process has or had: machines, containers and starts of a machine differ."""
    if not process.started:
        return ""
    facts = [platform.node(), str(pid), process.started]
    with contextlib.suppress(OSError):  # not on Linux
        facts.append((_PROCESSES / "sys/kernel/random/boot_id").read_text())
        facts.append(str((_PROCESSES / "self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _has_proc() -> bool:
    return (_PROCESSES / "self" / "stat").exists()


def from_proc(pid: int) -> Process | None:
    """Return a process as Linux describes it."""
    folder = _PROCESSES / str(pid)
    try:
        facts = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        parent, started = int(facts[1]), facts[_START]
        arguments = (folder / "cmdline").read_text(errors="replace").split("\0")[:-1]
    except (OSError, IndexError, ValueError):  # it has ended
        return None
    try:
        program, place = str((folder / "exe").readlink()), (folder / "cwd").readlink()
    except OSError:  # it is another user's
        return Process(parent=parent, program="", arguments=arguments, started=started)
    return Process(
        parent=parent,
        program=program,
        arguments=arguments,
        folder=place,
        started=started,
        terminal=all(_is_terminal(folder / "fd" / number) for number in ("0", "1")),
    )


def _is_terminal(stream: Path) -> bool:
    try:
        return str(stream.readlink()).startswith(_TERMINALS)
    except OSError:  # it is closed
        return False


def from_ps(pid: int, timeouts: Timeouts) -> Process | None:
    """Return a process as `ps` describes it, for systems without /proc, such as macOS."""
    described = [_column(name, pid, timeouts) for name in ("ppid", "comm", "args", "lstart")]
    parent, program, arguments, started = described
    if not parent.isdigit():
        return None
    return Process(parent=int(parent), program=program, arguments=arguments.split(), started=started)


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
