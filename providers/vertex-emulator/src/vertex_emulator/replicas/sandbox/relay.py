"""Pass the caller's streams on to a command in a replica: by a terminal of its own, or by pipes.

A program in the replica gets no descriptor of the caller's terminal or files, which it could read, or type
into (TIOCSTI).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

Start = Callable[[tuple[int, int, int]], NoReturn]
"""The body of the fork, which gets its streams."""

_BLOCK = 65_536


def run(start: Start, *, terminal: bool) -> int:
    """Run a fork with streams of its own until it ends. Return its exit code.

    Call it from a process with one thread. `terminal`: standard input and output are a terminal.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    return _on_terminal(start) if terminal else _in_pipes(start)


def _on_terminal(start: Start) -> int:
    master, slave = os.openpty()
    _copy_size(master)
    child = os.fork()
    if child == 0:
        os.close(master)
        start((slave, slave, slave))
    os.close(slave)
    with _raw(sys.stdin.fileno()), _resized(master):
        _pass_on(sink=master, sources={master: sys.stdout.fileno()})
    os.close(master)
    return _code(child)


def _in_pipes(start: Start) -> int:
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        for end in (in_w, out_r, err_r):
            os.close(end)
        start((in_r, out_w, err_w))
    for end in (in_r, out_w, err_w):
        os.close(end)
    _pass_on(sink=in_w, sources={out_r: sys.stdout.fileno(), err_r: sys.stderr.fileno()})
    for end in (in_w, out_r, err_r):
        with contextlib.suppress(OSError):
            os.close(end)
    return _code(child)


def _pass_on(*, sink: int, sources: dict[int, int]) -> None:
    """Copy standard input to `sink`, and each source to its other end, until all sources have ended."""
    stdin: int | None = sys.stdin.fileno()
    pending = b""
    os.set_blocking(sink, False)
    while sources:
        reading = [*sources, *([stdin] if stdin is not None and not pending else [])]
        ready, writable, _ = select.select(reading, [sink] if pending else [], [])
        for end in (each for each in ready if each in sources):
            data = _read(end)
            if data:
                _write(sources[end], data)
            else:
                del sources[end]
        if stdin in ready:
            pending = _read(sys.stdin.fileno())
            if not pending:
                stdin = None
                if sink not in sources:  # no terminal: this is the end of the command's input
                    os.close(sink)
        elif writable:
            try:
                pending = pending[os.write(sink, pending) :]
            except BlockingIOError:
                pass
            except OSError:  # the command reads no more
                stdin, pending = None, b""


def _read(end: int) -> bytes:
    try:
        return os.read(end, _BLOCK)
    except OSError:  # a terminal whose other end is closed
        return b""


def _write(end: int, data: bytes) -> None:
    while data:
        data = data[os.write(end, data) :]


def _code(child: int) -> int:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def _copy_size(master: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(sys.stdin.fileno(), termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(master, termios.TIOCSWINSZ, size)


@contextmanager
def _raw(terminal: int) -> Iterator[None]:
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal, termios.TCSADRAIN)  # what was typed already is the command's
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _resized(master: int) -> Iterator[None]:
    before = signal.signal(signal.SIGWINCH, lambda *_: _copy_size(master))
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
