"""The process between a program and its supervisor: it waits for the program and kills its descendants.

A shim is a fork of the supervisor that loads no further Python code. It waits for the program and for the
lifeline, a pipe whose other end only the supervisor holds. When either ends, the shim kills all processes
that the program left behind, even children that called setsid. With process namespaces the kernel does that;
otherwise the shim adopts all orphans below it (Linux) or searches for descendants (elsewhere). If the shim
itself is killed, the kernel kills the program (Linux).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from vertex_emulator.job_folder.outcome import START_ERROR
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import SupervisorTimeouts
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux import privileges
from vertex_emulator.replicas.sandbox.program import Command, exec_program, report_start_error, run_and_exit
from vertex_emulator.replicas.sandbox.sandbox import unshare_namespaces

if TYPE_CHECKING:
    import psutil

_SLEEPERS = ("/bin/sleep", "/usr/bin/sleep")
_FOR_EVER = str(2**31 - 1)
_REAPED_AT_ONCE = 100


def run_shim(
    command: Command, status: int, lifeline: int, out: int, err: int, timeouts: SupervisorTimeouts
) -> None:
    """Start the program, wait for it and exit: the life of a forked process with its ends of the pipes.

    `Child.feed` reads the lines that it writes to `status`.
    """
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    try:
        if command.network is not None:
            command.network.enter()
        status, lifeline, out, err = keep_descriptors(status, lifeline, out, err)
        user = unshare_namespaces(command.sandbox, command.view)
        init = None
        if command.sandbox.pids:
            init = _start_init(status, lifeline, out, err, seconds=timeouts.init)
        ns.adopt_orphans()
        exec_r, exec_w = os.pipe()
        shim = os.getpid()
        program = os.fork()
    except OSError as error:
        report_start_error(err, str(error))
        _report(status, f"started\nexit {START_ERROR} {machine_clock.monotonic_ns()}\n")
        os._exit(START_ERROR)
    if program == 0:
        run_and_exit(lambda: exec_program(command, shim, out, err, user=user), err)
    for end in (exec_w, out, err):
        os.close(end)
    _report(status, f"pid {program}\n")
    code = _wait(program, exec_r, lifeline, status)
    if code is not None:
        _report(status, f"exit {code} {machine_clock.monotonic_ns()}\n")
    if init is not None:
        os.kill(init, signal.SIGKILL)  # the kernel kills all other processes of the namespace with it
    if code is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has no group yet
            os.killpg(program, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        code = _exit_code(os.waitpid(program, 0)[1])
        _report(status, f"exit {code} {machine_clock.monotonic_ns()}\n")
    if init is not None:
        os.waitpid(init, 0)  # last: it ends only when the program, our child, has been waited for
    else:
        kill_descendants()
    os._exit(0)


def keep_descriptors(*ends: int) -> tuple[int, ...]:
    """Move the ends to 3 and up, close everything else, open the standard streams on /dev/null."""
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


def _report(status: int, text: str) -> None:
    with contextlib.suppress(OSError):  # the supervisor is gone
        os.write(status, text.encode())


def _start_init(*ends: int, seconds: float) -> int:
    """Start the first process of the new process namespace: it collects orphans, and all others die with it.

    It becomes a program that only sleeps, which needs a twentieth of this one's memory; its settings for
    parent and children survive that. The shim waits for it: it has the program's root, and after a change of
    root the files that it would still load may be missing.
    """
    started, starting = os.pipe()
    init = os.fork()
    if init == 0:
        privileges.drop()  # a replica of the same user may trace it
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
    became_another = not os.read(started, 1)  # a successful exec closes the other end
    os.close(started)
    if became_another:
        _wait_until_asleep(init, seconds=seconds)
    return init


def _wait_until_asleep(pid: int, *, seconds: float) -> None:
    """Wait until a process that has just executed another program has loaded it and sleeps, or is gone."""
    until = machine_clock.monotonic() + seconds
    while machine_clock.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return
        if state in ("S", "Z"):
            return
        machine_clock.sleep(0.0002)


def _wait(program: int, exec_end: int, lifeline: int, status: int) -> int | None:
    """Return the program's exit code, or None when the lifeline broke first."""
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_r, False)
    os.set_blocking(wake_w, False)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ends = select.poll()
    for end in (wake_r, lifeline, exec_end):
        ends.register(end, select.POLLIN)
    while True:
        code, more = _reap(program)
        if code is not None:
            _report(status, "started\n")
            return code
        ready = [end for end, _ in ends.poll(0 if more else None)]
        if lifeline in ready:
            return None
        if exec_end in ready:  # closed by a successful exec, or by the program's end
            ends.unregister(exec_end)
            _report(status, "started\n")
        if wake_r in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_r, 4096)


def _reap(program: int) -> tuple[int | None, bool]:
    """Collect ended children.

    Return the program's exit code if it is among them, and whether there may be more.

    The number is limited: a program can create orphans faster than they are collected.
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


def kill_strays(kept: Collection[int], *, seconds: float) -> None:
    """Kill all children of this process except for those to keep (Linux): a killed shim left them behind.

    Needs `adopt_orphans`. The wait is short for each and for all together: the first process of a process
    namespace ends after its members.
    """
    import psutil

    until = machine_clock.monotonic() + seconds
    while strays := [one for one in psutil.Process().children() if one.pid not in kept]:
        for stray in strays:
            for process in (stray, *_descendants(stray)):
                _kill(process)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(stray.pid, os.WNOHANG)
        if machine_clock.monotonic() >= until:
            return
        machine_clock.sleep(0.005)


def kill_descendants() -> None:
    """Kill until no descendant is left, without a process namespace. Orphans become our children (Linux)."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux" and not _has_children():
        return
    import psutil

    shim = psutil.Process()
    while True:
        for descendant in shim.children(recursive=True):
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


def _kill(process: psutil.Process) -> None:
    """Kill a process and its group at once, so that a program that forks all the time cannot escape."""
    import psutil

    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        group = os.getpgid(process.pid)
        process.kill()
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    import psutil

    try:
        descendants: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return descendants
