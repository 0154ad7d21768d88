"""Starting a program so that nothing of it can outlive its supervisor, and stopping it.

Between supervisor and program stands a keeper, a fork of the supervisor without Python code to load. It waits
for the program and for the lifeline, a pipe whose other end only the supervisor holds. When either ends, the
keeper kills whatever the program left behind, children that called setsid included: with process namespaces
the kernel does it, else the keeper is the adoptive parent of all orphans below it (Linux), or looks for
descendants (elsewhere). If the keeper itself is killed, the kernel kills the program (Linux).

The supervisor has one thread only: forking is safe, and the parent-death signal, which is tied to the thread
that forked, does not fire early.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from vertex_training.emulator.jobs import namespaces as ns
from vertex_training.emulator.jobs.sandbox import Sandbox, View, enter, separate

if TYPE_CHECKING:
    import psutil

START_ERROR = 128
"""The exit status when a program's surroundings could not be set up, as container runtimes have it."""

_NOT_FOUND = 127
_SLEEPERS = ("/bin/sleep", "/usr/bin/sleep")
_FOR_EVER = str(2**31 - 1)
_LOADING_SECONDS = 10.0
_STRAY_SECONDS = 5.0
_REAPED_AT_ONCE = 100
_NOT_EXECUTABLE = 126


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program to run. `environment` is all that it gets; `argv[0]` is looked up in its PATH.

    `make_cwd`: the folder `cwd` is made in the replica's root where it is missing.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path
    make_cwd: bool = False
    sandbox: Sandbox = field(default_factory=lambda: Sandbox(kind="process"))
    view: View | None = None


@dataclass(kw_only=True)
class Child:
    """A started program, as its supervisor sees it.

    `status` gives the keeper's lines (`feed`) and ends with the keeper. `exit_code` is 128 + n for a program
    that signal n ended, as containers report it; `ended_at` is on `time.monotonic_ns()`'s clock.
    """

    keeper: int
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
        """Take what was read from `status`."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            word, *numbers = line.split()
            if word == b"pid":
                self.pid = int(numbers[0])
            elif word == b"started":
                self.started = True
            elif word == b"exit":
                self.exit_code, self.ended_at = int(numbers[0]), int(numbers[1])

    def finish(self) -> bool:
        """After `status` ended: collect the keeper; whether it was killed.

        A keeper that was killed took its program with it, but not what the program had started.
        """
        self.lifeline = _close(self.lifeline)
        self.status = _close(self.status)
        killed = False
        with contextlib.suppress(ChildProcessError):
            killed = os.WIFSIGNALED(os.waitpid(self.keeper, 0)[1])
        self.started = True
        if self.exit_code is None:
            self.exit_code, self.ended_at = 128 + signal.SIGKILL, time.monotonic_ns()
        return killed

    def terminate(self) -> None:
        """Ask the program to end: SIGTERM to its process group."""
        if self.pid is None or self.exit_code is not None:
            return
        try:
            os.killpg(self.pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):  # it has not made its group yet
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the program and everything that descended from it, at once."""
        self.lifeline = _close(self.lifeline)


def spawn(command: Command) -> Child:
    """Start the program. Only to be called from a process with one thread.

    What goes wrong after the fork is written to the program's standard error, and gives an exit status of 126
    to 128. Raises `OSError` when there can be no further process or pipe.
    """
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(4):
            pipes.append(os.pipe())
        sys.stdout.flush()
        sys.stderr.flush()
        keeper = os.fork()
    except OSError:
        for pair in pipes:
            _close(pair[0])
            _close(pair[1])
        raise
    (status_r, status_w), (life_r, life_w), (out_r, out_w), (err_r, err_w) = pipes
    if keeper == 0:
        _never_returns(lambda: _keep(command, status_w, life_r, out_w, err_w), err_w)
    for end in (status_w, life_r, out_w, err_w):
        os.close(end)
    for end in (status_r, out_r, err_r):
        os.set_blocking(end, False)
    return Child(keeper=keeper, status=status_r, stdout=out_r, stderr=err_r, lifeline=life_w)


def run(command: Command) -> tuple[int, bytes]:
    """Start the program, wait for it; its exit status and what it wrote."""
    child = spawn(command)
    output = b""
    ends = [child.status, child.stdout, child.stderr]
    while ends:
        for end in select.select(ends, [], [])[0]:
            data = os.read(end, 65536)
            if not data:
                ends.remove(end)
            elif end == child.status:
                child.feed(data)
            else:
                output += data
    child.finish()
    os.close(child.stdout)
    os.close(child.stderr)
    return child.exit_code or 0, output


def kill_strays(keepers: Collection[int]) -> None:
    """Kill all children of this process but the keepers: what a killed keeper left behind (Linux).

    Needs `adopt_orphans`. Waits for each a little only, and for all together: the first process of a process
    namespace ends after its members.
    """
    import psutil

    until = time.monotonic() + _STRAY_SECONDS
    while strays := [one for one in psutil.Process().children() if one.pid not in keepers]:
        for stray in strays:
            for process in (stray, *_descendants(stray)):
                _kill(process)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(stray.pid, os.WNOHANG)
        if time.monotonic() >= until:
            return
        time.sleep(0.005)


def _kill(process: psutil.Process) -> None:
    """Kill a process and its group, the group at once: who forks and ends all the time cannot slip away."""
    import psutil

    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        group = os.getpgid(process.pid)
        process.kill()
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    import psutil

    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return found


def _close(end: int) -> int:
    if end >= 0:
        os.close(end)
    return -1


def _never_returns(body: Callable[[], None], errors: int) -> NoReturn:
    """Run `body` in a forked process: no exception and no clean-up of the parent's gets past here."""
    try:
        body()
    except BaseException as error:
        _say(errors, f"{type(error).__name__}: {error}")
    finally:
        os._exit(START_ERROR)


def _say(errors: int, text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(errors, f"Emulator: the program could not be started: {text}\n".encode())


def _keep(command: Command, status: int, lifeline: int, out: int, err: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    status, lifeline, out, err = _keep_only(status, lifeline, out, err)
    try:
        separate(command.sandbox, command.view)
        init = _start_init(status, lifeline, out, err) if command.sandbox.pids else None
        ns.adopt_orphans()
        exec_r, exec_w = os.pipe()
        keeper = os.getpid()
        program = os.fork()
    except OSError as error:
        _say(err, str(error))
        _tell(status, f"started\nexit {START_ERROR} {time.monotonic_ns()}\n")
        os._exit(START_ERROR)
    if program == 0:
        _never_returns(lambda: _become(command, keeper, out, err), err)
    for end in (exec_w, out, err):
        os.close(end)
    _tell(status, f"pid {program}\n")
    code = _wait(program, exec_r, lifeline, status)
    if code is not None:
        _tell(status, f"exit {code} {time.monotonic_ns()}\n")
    if init is not None:
        os.kill(init, signal.SIGKILL)  # the kernel kills all other processes of the namespace with it
    if code is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has not made its group yet
            os.killpg(program, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        code = _exit_code(os.waitpid(program, 0)[1])
        _tell(status, f"exit {code} {time.monotonic_ns()}\n")
    if init is not None:
        os.waitpid(init, 0)  # last: it ends only when the program, our child, has been waited for
    else:
        _kill_descendants()
    os._exit(0)


def _keep_only(*ends: int) -> tuple[int, ...]:
    """Move the ends to 3 and up, close everything else, standard streams to /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    high = [_move_high(end) for end in (*ends, null)]
    os.closerange(3, min(high))
    for index, end in enumerate(high[:-1], start=3):
        os.dup2(end, index, inheritable=False)
    for standard in (0, 1, 2):
        os.dup2(high[-1], standard)
    os.closerange(3 + len(ends), _limit())
    return tuple(range(3, 3 + len(ends)))


def _move_high(end: int) -> int:
    import fcntl

    return fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 64)


def _limit() -> int:
    try:
        return max(int(name) for name in os.listdir("/proc/self/fd")) + 1  # noqa: PTH208
    except (OSError, ValueError):
        return 4096


def _tell(status: int, text: str) -> None:
    with contextlib.suppress(OSError):  # the supervisor is gone, and nobody is left to tell
        os.write(status, text.encode())


def _start_init(*ends: int) -> int:
    """The first process of the new process namespace; it collects orphans, and the rest dies with it.

    It becomes a program that only sleeps, which takes a twentieth of this one's memory. What it was told here
    of its parent and of its children survives that. It is waited for: it has the program's root, so once that
    is another one, what it would still have to load may not be there.
    """
    started, starting = os.pipe()
    init = os.fork()
    if init == 0:
        ns.die_with_parent()
        for end in ends:
            os.close(end)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for sleep in _SLEEPERS:
            with contextlib.suppress(OSError):
                os.execv(sleep, ["sleep", _FOR_EVER])  # noqa: S606 - a constant
        os.write(starting, b"-")
        while True:
            signal.pause()
    os.close(starting)
    became_another = not os.read(started, 1)  # the other end closes by itself when it does
    os.close(started)
    if became_another:
        _wait_until_asleep(init)
    return init


def _wait_until_asleep(pid: int) -> None:
    """Until a process that has just become another program has loaded it and sleeps, or is gone."""
    until = time.monotonic() + _LOADING_SECONDS
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return
        if state in ("S", "Z"):
            return
        time.sleep(0.0002)


def _become(command: Command, keeper: int, out: int, err: int) -> None:
    os.setsid()
    ns.die_with_parent()
    if os.getppid() not in (keeper, 0):  # 0: the keeper is outside this process namespace
        os._exit(START_ERROR)
    if command.view is not None:
        for note in enter(command.sandbox, command.view):
            os.write(err, f"{note}\n".encode())
    ns.forbid_new_privileges()
    if command.make_cwd:
        with contextlib.suppress(OSError):  # `chdir` says why
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
        _say(2, f"{command.argv[0]}: no such file or directory in PATH={command.environment.get('PATH', '')}")
        os._exit(_NOT_FOUND)
    except OSError as error:
        _say(2, f"{command.argv[0]}: {error.strerror}")
        os._exit(_NOT_EXECUTABLE)


def _wait(program: int, exec_end: int, lifeline: int, status: int) -> int | None:
    """The program's exit code, or None when the lifeline broke first."""
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_r, False)
    os.set_blocking(wake_w, False)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ends = [wake_r, lifeline, exec_end]
    while True:
        code, more = _reap(program)
        if code is not None:
            _tell(status, "started\n")
            return code
        ready = select.select(ends, [], [], 0 if more else None)[0]
        if lifeline in ready:
            return None
        if exec_end in ready:  # closed by a successful exec, or by the program's end
            ends.remove(exec_end)
            _tell(status, "started\n")
        if wake_r in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_r, 4096)


def _reap(program: int) -> tuple[int | None, bool]:
    """Collect ended children: the program's exit code if it is among them, and whether there may be more.

    Only so many at once: a program can make orphans faster than they are collected.
    """
    with contextlib.suppress(ChildProcessError):
        for _ in range(_REAPED_AT_ONCE):
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
            if pid == program:
                return _exit_code(wait_status), True
            if pid == 0:
                return None, False
        return None, True
    return None, False


def _exit_code(wait_status: int) -> int:
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def _kill_descendants() -> None:
    """Without a process namespace: kill until no descendant is left. Orphans become our children (Linux)."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux" and not _has_children():
        return
    import psutil

    keeper = psutil.Process()
    while True:
        for descendant in keeper.children(recursive=True):
            _kill(descendant)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
