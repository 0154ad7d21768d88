"""The fork server: a process that has imported the supervisor, and becomes one in a fork for each job.

    python -m vertex_emulator.replicas.supervisor.fork_server

The imports would take most of the processor time of a short job. The server has one thread, starts with the
first job, and ends when its emulator does: its standard input is their socket. Supervisors outlive both.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

_MODULE = "vertex_emulator.replicas.supervisor.fork_server"
_LENGTH = 8
_TITLE_SPACE = "-" * 3000
"""An argument of the server. The command lines of its forks take its space."""


class ForkServer:
    """The emulator's end of a fork server that runs in the interpreter `python`. Safe for threads."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._server: socket.socket | None = None
        self._pid: int | None = None

    def fork(self, folder: Path, environment: Mapping[str, str], *, lock: int, log: Path) -> None:
        """Become a supervisor of a job's folder, in a session of its own, with `log` for its output.

        `lock` is the folder's lock (`JobFolder.hold`), which the supervisor keeps for its life: it is free if
        the supervisor does not start. Raises `OSError`.
        """
        request = {"folder": str(folder), "environment": dict(environment), "cwd": _working_folder()}
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            with self._lock:
                if self._server is None or not _send(self._server, request, (lock, output)):
                    self._server = self._start(environment, output)
                    _send(self._server, request, (lock, output))
        finally:
            os.close(output)

    def close(self) -> None:
        """End the server; supervisors go on."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _start(self, environment: Mapping[str, str], output: int) -> socket.socket:
        """Start a server, in place of one that has ended. Its first job's log has errors of the imports."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._pid is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        ours, theirs = socket.socketpair()
        streams = (theirs.fileno(), output, output)
        try:
            self._pid = os.posix_spawn(
                self._python,
                [self._python, "-m", _MODULE, _TITLE_SPACE],
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, each, number) for number, each in enumerate(streams)],
                setsid=True,
                setsigmask=[],
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours


def shared(python: str) -> ForkServer:
    """Return the fork server of this process in an interpreter."""
    return _server_of(python, os.getpid())


@functools.lru_cache
def _server_of(python: str, _process: int) -> ForkServer:
    server = ForkServer(python)
    atexit.register(server.close)
    return server


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return "/"


def _send(server: socket.socket, request: Mapping[str, Any], descriptors: tuple[int, int]) -> bool:
    """Send a request. Return False if the server has ended."""
    data = json.dumps(request).encode()
    try:
        socket.send_fds(server, [len(data).to_bytes(_LENGTH, "big")], descriptors)
        server.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def main() -> None:
    """Serve until the emulator has closed its end of the socket."""
    from vertex_emulator.replicas.supervisor import prepared, supervisor

    show_command_line(f"{sys.executable} -m {_MODULE}")
    server = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    signal.signal(signal.SIGCHLD, _reap)
    prepared.warm_up()
    gc.collect()
    gc.freeze()  # the forks share this memory
    while True:
        head, descriptors, _, _ = socket.recv_fds(server, _LENGTH, 2, socket.MSG_CMSG_CLOEXEC)
        if len(head) < _LENGTH:
            return
        request = json.loads(_read(server, int.from_bytes(head, "big")))
        lock, log = descriptors
        job = None
        with contextlib.suppress(Exception):  # the supervisor will report the error
            job = prepared.prepare(request["folder"])
        try:
            if os.fork() == 0:
                server.close()
                _become(supervisor.main, request, lock, log, job)
        except OSError as error:
            os.write(log, f"{error}\n".encode())
        for each in descriptors:
            os.close(each)


def _read(server: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = server.recv(size - len(data))
        if not block:
            raise EOFError
        data += block
    return data


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(body: Any, request: Mapping[str, Any], lock: int, log: int, job: object) -> NoReturn:
    """Run the supervisor in this fork, and exit."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.environ.clear()
        os.environ.update(request["environment"])
        with contextlib.suppress(OSError):
            os.chdir(request["cwd"])
        show_command_line(f"{sys.executable} -m {body.__module__} {request['folder']}")
        code = body(request["folder"], lock, job)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


_STARTS, _ENDS = 45, 46
"""Fields of proc_pid_stat(5) after the name of the program: where the command line begins and ends."""


def show_command_line(text: str) -> None:
    """Replace the command line of this process in lists of processes, if it has space for it (Linux).

    The kernel shows a single string if the last byte is not zero, as setproctitle(3) leaves it.
    """
    data = os.fsencode(text)
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
        start, end = int(fields[_STARTS]), int(fields[_ENDS])
        if start and len(data) + 2 <= end - start:
            ctypes.memmove(start, data.ljust(end - start - 1, b"\0") + b"-", end - start)


if __name__ == "__main__":
    main()
