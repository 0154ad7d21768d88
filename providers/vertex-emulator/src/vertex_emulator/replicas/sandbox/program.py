"""A program to run, and how a forked process becomes it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from vertex_emulator.job_folder.outcome import START_ERROR
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux import privileges
from vertex_emulator.replicas.sandbox.linux.idmaps import HostUser
from vertex_emulator.replicas.sandbox.linux.network_namespace import NetworkNamespace
from vertex_emulator.replicas.sandbox.sandbox import Sandbox, View, apply_view

NOT_EXECUTABLE = 126
NOT_FOUND = 127


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program to run. `environment` is its whole environment; `argv[0]` is looked up in its PATH.

    `make_cwd`: create the folder `cwd` in the replica's root if it is missing. `network` is None for the
    machine's own network. `starts_sandboxes`: a program of the emulator that keeps the rights to do that.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path
    make_cwd: bool = False
    sandbox: Sandbox = field(default_factory=lambda: Sandbox(kind="process"))
    view: View | None = None
    network: NetworkNamespace | None = None
    limits: privileges.Limits = privileges.DEFAULT_LIMITS
    starts_sandboxes: bool = False


def run_and_exit(body: Callable[[], None], errors: int) -> NoReturn:
    """Run `body` in a forked process and exit: no exception or clean-up of the parent leaves this call."""
    try:
        body()
    except BaseException as error:
        report_start_error(errors, f"{type(error).__name__}: {error}")
    finally:
        os._exit(START_ERROR)


def report_start_error(errors: int, text: str) -> None:
    """Write to the log of a program, its standard error, why it does not run."""
    with contextlib.suppress(OSError):
        os.write(errors, f"Emulator: the program could not be started: {text}\n".encode())


def _die_with(shim: int) -> None:
    ns.die_with_parent()
    if os.getppid() not in (shim, 0):  # 0: the shim is outside this process namespace
        os._exit(START_ERROR)


def _give_up_rights(command: Command, user: HostUser | None) -> list[str]:
    if sys.platform != "linux" or command.starts_sandboxes:
        return []
    privileges.limit(command.limits, own_count=command.view is not None)
    if user is None:
        return privileges.drop()
    user.become()
    return privileges.drop(user=user.inside)


def exec_program(command: Command, shim: int, out: int, err: int, *, user: HostUser | None = None) -> None:
    """Set up the program's sandbox, streams and working directory, then execute it. Raises `OSError`.

    `shim` is the process that forked this one; if it is gone, the program is not run. `user` is what
    `unshare_namespaces` returned.
    """
    os.setsid()
    _die_with(shim)
    notes = apply_view(command.sandbox, command.view, user) if command.view is not None else []
    for note in notes + _give_up_rights(command, user):
        os.write(err, f"{note}\n".encode())
    _die_with(shim)  # a change of the user has undone it
    if command.make_cwd:
        with contextlib.suppress(OSError):  # `chdir` reports the error
            command.cwd.mkdir(parents=True, exist_ok=True)
    os.chdir(command.cwd)
    os.umask(0o022)
    os.dup2(out, 1)
    os.dup2(err, 2)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvpe(  # noqa: S606 - running the user's program is what this is for
            command.argv[0], list(command.argv), dict(command.environment)
        )
    except FileNotFoundError:
        report_start_error(
            2, f"{command.argv[0]}: no such file or directory in PATH={command.environment.get('PATH', '')}"
        )
        os._exit(NOT_FOUND)
    except OSError as error:
        report_start_error(2, f"{command.argv[0]}: {error.strerror}")
        os._exit(NOT_EXECUTABLE)
