"""Start a program so that nothing of it can outlive its supervisor, and stop it.

A `shim` process runs between the two. The supervisor has only one thread: forking is safe, and the
parent-death signal, which belongs to the thread that forked, does not come too early.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import SUPERVISOR, SupervisorTimeouts
from vertex_emulator.replicas.sandbox.program import Command, run_and_exit
from vertex_emulator.replicas.sandbox.shim import run_shim


@dataclass(kw_only=True)
class Child:
    """A started program, as its supervisor sees it.

    `status` delivers the shim's lines (`feed`) and closes with the shim. `exit_code` is 128 + n for a program
    that signal n ended, as containers report it. `ended_at` is on the machine's clock.
    """

    shim: int
    status: int
    stdout: int
    stderr: int
    lifeline: int
    pid: int | None = None
    started: bool = False
    exit_code: int | None = None
    ended_at: int | None = None
    _partial: bytes = b""

    def feed(self, data: bytes) -> None:
        """Read data from `status`."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            word, *numbers = line.split()
            if word == b"pid":
                self.pid = int(numbers[0])
            elif word == b"started":
                self.started = True
            elif word == b"exit":
                self.exit_code, self.ended_at = int(numbers[0]), int(numbers[1])

    def may_have_ended(self) -> bool:
        """Return whether the program may have ended although its shim has not reported that yet."""
        if self.exit_code is not None:
            return False
        try:
            state = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:  # the shim has waited for it, or this is no Linux
            return True
        return state in (b"Z", b"X")

    def finish(self) -> bool:
        """Reap the shim after `status` has closed. Return whether the shim was killed.

        A killed shim takes its program with it, but not the processes that the program started.
        """
        self.lifeline = _close(self.lifeline)
        self.status = _close(self.status)
        killed = False
        with contextlib.suppress(ChildProcessError):
            killed = os.WIFSIGNALED(os.waitpid(self.shim, 0)[1])
        self.started = True
        if self.exit_code is None:
            self.exit_code, self.ended_at = 128 + signal.SIGKILL, machine_clock.monotonic_ns()
        return killed

    def terminate(self) -> None:
        """Send SIGTERM to the program's process group."""
        if self.pid is None or self.exit_code is not None:
            return
        try:
            os.killpg(self.pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):  # it has no group yet
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the program and all its descendants at once."""
        self.lifeline = _close(self.lifeline)


def spawn(command: Command, *, timeouts: SupervisorTimeouts = SUPERVISOR) -> Child:
    """Start a program. Call it only from a process with one thread.

    An error after the fork is written to the program's standard error, and gives an exit status of 126 to
    128. Raises `OSError` if no further process or pipe can be created.
    """
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(4):
            pipes.append(os.pipe())
        sys.stdout.flush()
        sys.stderr.flush()
        shim = os.fork()
    except OSError:
        for pair in pipes:
            _close(pair[0])
            _close(pair[1])
        raise
    (status_r, status_w), (life_r, life_w), (out_r, out_w), (err_r, err_w) = pipes
    if shim == 0:
        run_and_exit(lambda: run_shim(command, status_w, life_r, out_w, err_w, timeouts), err_w)
    for end in (status_w, life_r, out_w, err_w):
        os.close(end)
    for end in (status_r, out_r, err_r):
        os.set_blocking(end, False)
    return Child(shim=shim, status=status_r, stdout=out_r, stderr=err_r, lifeline=life_w)


def run(command: Command) -> tuple[int, bytes]:
    """Run a program to its end. Return its exit status and output."""
    child = spawn(command)
    output = b""
    with selectors.DefaultSelector() as ends:
        for end in (child.status, child.stdout, child.stderr):
            ends.register(end, selectors.EVENT_READ)
        while ends.get_map():
            for ready, _ in ends.select():
                data = os.read(ready.fd, 65536)
                if not data:
                    ends.unregister(ready.fd)
                elif ready.fd == child.status:
                    child.feed(data)
                else:
                    output += data
    child.finish()
    os.close(child.stdout)
    os.close(child.stderr)
    return child.exit_code or 0, output


def _close(end: int) -> int:
    if end >= 0:
        os.close(end)
    return -1
