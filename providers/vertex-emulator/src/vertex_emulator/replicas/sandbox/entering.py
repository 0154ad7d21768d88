"""Run a command in the namespaces of a running replica, with the replica's rights and no more (Linux).

Whoever runs it needs rights over the replica's user namespace: the kernel grants them to the user who runs
the emulator, and to root. The replica's program is not trusted. Until the command is executed, the process
that enters cannot be traced or read (`PR_SET_DUMPABLE`), and no descriptor of this machine is left to it.
Its streams are pipes or a terminal of its own, never the caller's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux import privileges
from vertex_emulator.replicas.sandbox.program import NOT_EXECUTABLE, NOT_FOUND, run_and_exit

_KINDS = {
    "net": ns.CLONE_NEWNET,
    "uts": ns.CLONE_NEWUTS,
    "ipc": ns.CLONE_NEWIPC,
    "pid": ns.CLONE_NEWPID,
    "mnt": ns.CLONE_NEWNS,
}
"""The namespaces of a replica, in an order in which the user namespaces that own them are nested."""
_NS_GET_USERNS = 0xB701
_PR_SET_DUMPABLE = 4
_JOB = b"CLOUD_ML_JOB_ID"


class EnterError(Exception):
    """A replica cannot be entered; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A running replica: descriptors of its process in /proc and of its working folder; its environment."""

    process: int
    cwd: int
    environment: Mapping[bytes, bytes]


def find(pid: int, job_id: str) -> Replica:
    """Return the replica whose program is a process. Raises EnterError if that is no replica of the job."""
    if sys.platform != "linux":
        raise EnterError("Commands in replicas need Linux.")
    try:
        process = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        text = _read(process, "environ")
        cwd = os.open("cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=process)
    except FileNotFoundError:
        raise EnterError("Its process has ended.") from None
    except PermissionError:
        raise EnterError(
            "Its process belongs to another user. Run the command as the user who runs the emulator."
        ) from None
    except OSError as error:
        raise EnterError(f"Its process cannot be read: {error}.") from error
    environment = dict(line.split(b"=", 1) for line in text.split(b"\0") if b"=" in line)
    if environment.get(_JOB) != job_id.encode():  # the number is another one's, or of another /proc
        raise EnterError(f"The process {pid} of this machine is no replica of job {job_id}.")
    return Replica(process=process, cwd=cwd, environment=environment)


def _read(folder: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return file.read()


def run_in(
    replica: Replica, argv: Sequence[str], streams: tuple[int, int, int], *, term: str | None
) -> NoReturn:
    """Enter a replica and run a command there, in a fork of the caller: never returns.

    `streams` become the command's. With `term`, the first is a terminal, which the command controls, of this
    kind. The exit status is the command's, or one of a shell.
    """
    run_and_exit(lambda: _enter(replica, argv, streams, term), streams[2])


def _enter(replica: Replica, argv: Sequence[str], streams: tuple[int, int, int], term: str | None) -> None:
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    ns.prctl(_PR_SET_DUMPABLE, 0)
    ns.libc()
    process, cwd, *rest = _only(replica.process, replica.cwd, *streams)
    user = _join_namespaces(process)
    ns.die_with_parent()
    if os.getppid() != parent:
        os._exit(NOT_EXECUTABLE)
    program = os.fork()  # in the process namespace
    if program == 0:
        environment = {**replica.environment, **({b"TERM": os.fsencode(term)} if term else {})}
        run_and_exit(
            lambda: _become(argv, environment, cwd, rest, user, has_terminal=term is not None), rest[2]
        )
    for end in rest:
        os.close(end)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def _only(*ends: int) -> list[int]:
    """Close all descriptors but these, and open the standard streams on the last three. Return them."""
    kept = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 64) for end in ends]
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - no more modules
        if int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
    for standard, end in enumerate(kept[-3:]):
        os.dup2(end, standard, inheritable=False)
    return kept


def _join_namespaces(process: int) -> tuple[int, int] | None:
    """Enter the namespaces of a process. Return its user and group there; None if it has none of its own."""
    if os.geteuid() == 0:
        os.setgroups([])
    users, here = _namespace(process, "user"), Path("/proc/self/ns/user").stat().st_ino
    joined = False
    for kind, flag in _KINDS.items():  # mnt is the last: afterwards, /proc is another one
        namespace = _namespace(process, kind)
        if os.fstat(namespace).st_ino != Path(f"/proc/self/ns/{kind}").stat().st_ino:
            owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
            here = _join_users(owner, here)
            ns.join(namespace, flag)
            joined = True
    if not joined:
        return None
    _join_users(users, here)
    lines = (line.split() for line in _read(process, "status").splitlines())
    ids = {words[0]: int(words[1]) for words in lines if words[:1] in ([b"Uid:"], [b"Gid:"])}
    return ids[b"Uid:"], ids[b"Gid:"]


def _join_users(namespace: int, here: int) -> int:
    """Enter a user namespace, unless this process is in it already. Return its number."""
    number = os.fstat(namespace).st_ino
    if number != here:
        ns.join(namespace)
    return number


def _namespace(process: int, kind: str) -> int:
    return os.open(f"ns/{kind}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=process)


def _become(
    argv: Sequence[str],
    environment: Mapping[bytes, bytes],
    cwd: int,
    streams: Sequence[int],
    user: tuple[int, int] | None,
    *,
    has_terminal: bool,
) -> None:
    """Give up all rights that the replica does not have, and execute the command."""
    os.setsid()
    if has_terminal:
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    privileges.limit(privileges.DEFAULT_LIMITS, own_count=user is not None)
    notes = privileges.drop(user=user)
    ns.die_with_parent()
    os.fchdir(cwd)
    for note in notes:
        os.write(streams[2], f"{note}\n".encode())
    os.umask(0o022)
    for standard, end in enumerate(streams):
        os.dup2(end, standard)
    try:
        os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606 - this is what it is for
    except FileNotFoundError:
        os.write(2, f"{argv[0]}: no such file or directory in the replica\n".encode())
        os._exit(NOT_FOUND)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(NOT_EXECUTABLE)
