"""End a process that has stopped reporting, and print where each of its threads is.

A thread of Python cannot do that: it does not run while other code holds the interpreter's lock, as a library
that waits in C may do. So Python's `faulthandler` prints the stacks, and timers of the C library call
functions of the C library: one prints the last line, one exits.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import math
import os
import time
from datetime import datetime, timezone
from typing import Any, Callable, Mapping, Optional

from .variables import from_environment

__all__ = ["EXIT_SECONDS", "STALL_VARIABLE", "Watchdog", "seconds_of"]

STALL_VARIABLE = "VERTEX_CLUSTER_STALL_TIMEOUT"
"""Variable with the seconds after which a silent replica ends; a job's `stall_timeout` sets it."""

EXIT_SECONDS = 30.0
"""Seconds from the stacks to the exit, in which the other replicas print theirs: the service stops them all
when the first has exited."""

_EXIT_CODE = 1  # the service would retry after 134, 137 or 143
_STDERR = 2
_LONGEST_LINE = 400
_LINE_AFTER = 0.5

_log = logging.getLogger("vertex_cluster")


def seconds_of(environ: Mapping[str, str]) -> Optional[float]:
    """Return the seconds of the variable, None without it. Raises ValueError."""
    text = environ.get(STALL_VARIABLE, "").strip()
    return checked(float(text)) if text else None


def checked(seconds: float) -> float:
    """Return a stall timeout. Raises ValueError unless it is at least a second, and finite."""
    if not 1 <= seconds < math.inf:
        raise ValueError(f"the stall timeout is {seconds:g} seconds; give at least 1")
    return seconds


class Watchdog:
    """Print all stacks when this process has not reported for some seconds, and exit with code 1 later."""

    def __init__(self, seconds: float, *, exit_seconds: float = EXIT_SECONDS) -> None:
        """`exit_seconds` is the time from the stacks to the exit. Nothing is armed before `reported`."""
        self._seconds = checked(seconds)
        self._exit_seconds = exit_seconds
        self._slack = min(1.0, seconds / 10)
        """A new arming costs a thread: several reports in this time share one."""
        self._armed_at = -math.inf
        self._stacks_at: Optional[float] = None
        self._line = ctypes.create_string_buffer(_LONGEST_LINE)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._line))  # its timer may outlive the interpreter
        self._who = _name()
        self._timers = _timers(self._line)
        # A child that is forked while `faulthandler` waits would itself wait for its thread, for ever.
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._forget
        )

    def reported(self, step: Optional[float]) -> None:
        """Note a report, and begin the wait for the next one."""
        now = time.monotonic()
        self._line.value = self._text(step).encode("ascii", "replace")
        if now - self._armed_at < self._slack:
            return
        self._armed_at = now
        at = self._seconds + self._slack
        if self._timers is None:  # the stacks are printed at the exit alone
            self._print_stacks(at + self._exit_seconds)
            return
        print_line, end = self._timers
        self._print_stacks(at)
        print_line(at + _LINE_AFTER)
        end(at + max(self._exit_seconds, 2 * _LINE_AFTER))

    def stop(self) -> None:
        """Watch no more, until the next report."""
        faulthandler.cancel_dump_traceback_later()
        for timer in self._timers or ():
            timer(0)
        self._forget()

    def _print_stacks(self, seconds: float) -> None:
        self._stacks_at = time.monotonic() + seconds
        faulthandler.dump_traceback_later(seconds, exit=self._timers is None, file=_STDERR)

    def _before_fork(self) -> None:
        if self._stacks_at is not None:
            faulthandler.cancel_dump_traceback_later()

    def _after_fork(self) -> None:
        if self._stacks_at is not None:
            self._print_stacks(max(self._stacks_at - time.monotonic(), 0.001))

    def _forget(self) -> None:
        self._armed_at = -math.inf
        self._stacks_at = None

    def _text(self, step: Optional[float]) -> str:
        after = "" if step is None else f", after step {step:g}"
        since = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        return (
            f"vertex_cluster: {self._who} has reported nothing since {since}{after} "
            f"(stall_timeout {self._seconds:g} s). It exits with code {_EXIT_CODE}."
        )


def _name() -> str:
    """Return the name of this replica in the log, with the rank of a process that is not its first."""
    try:
        name = from_environment().name
    except Exception:  # the training goes on without a name, too
        name = "this replica"
    rank = os.environ.get("LOCAL_RANK", "0")
    return name if rank == "0" or not rank.isdigit() else f"{name} (local rank {rank})"


class _Event(ctypes.Structure):
    """The `struct sigevent` of Linux, for a function that is called in a thread of its own."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("rest", ctypes.c_char * 64),
    ]


class _Times(ctypes.Structure):
    """The `struct itimerspec`."""

    _fields_ = [(name, ctypes.c_long) for name in ("every", "every_ns", "seconds", "ns")]


_CLOCK_MONOTONIC = 1
_SIGEV_THREAD = 2

Timer = Callable[[float], None]
"""Call the function of the timer once after so many seconds, instead of the time set before; 0 is never."""


def _timers(line: Any) -> "Optional[tuple[Timer, Timer]]":
    """Return the timers that print a line and that exit, or None without such a C library."""
    try:
        library = ctypes.CDLL(None)
        made = library if hasattr(library, "timer_create") else ctypes.CDLL("librt.so.1")
        return (
            _timer(made, library.warnx, ctypes.cast(line, ctypes.c_void_p).value),
            _timer(made, library._exit, _EXIT_CODE),
        )
    except (AttributeError, OSError) as error:
        _log.warning("a stall is noticed %g s later, at the exit: %s", EXIT_SECONDS, error)
        return None


def _timer(library: Any, function: Any, value: Optional[int]) -> Timer:
    """Return a timer that calls a C function with one value. Raises OSError, AttributeError."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    event = _Event(value=value, notify=_SIGEV_THREAD, function=address)
    timer = ctypes.c_void_p()
    if library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
        raise OSError("the C library made no timer")

    def arm(seconds: float) -> None:
        whole, part = divmod(seconds, 1)
        times = _Times(seconds=int(whole), ns=int(part * 1e9))
        library.timer_settime(timer, 0, ctypes.byref(times), None)

    return arm
