"""The loop of the supervisor: it reads output, signals and the doorbell, and orders the exits of children.

There is one thread. A child's output goes to its log as it comes. A child has ended when its shim has, at
which time no process of the program is left.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import SUPERVISOR, SupervisorTimeouts
from vertex_emulator.replicas.sandbox.children import Child, spawn
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.shim import kill_strays

_READ = 262_144


@dataclass(kw_only=True)
class Running:
    """A child and its log. `ends` are its open output pipes, with the severity of each.

    `ended`: no process of it is left and its log is complete. `shim_killed`: its shim was killed. `taken`:
    its end was handled. `is_replica` is False for helpers. `started_at` and `finished_at` are in seconds of
    the emulator's clock. `order_kind` is the kind of the order (`orders`) that ended it.
    """

    name: str
    child: Child
    log: LogWriter
    ends: dict[int, str]
    is_replica: bool
    ended: bool = False
    shim_killed: bool = False
    taken: bool = False
    started_at: float | None = None
    finished_at: float | None = None
    order_kind: str = ""


class Loop:
    """The children of one supervisor. `on_wake` is called before events are handled.

    `kept` are processes of the supervisor that are no children of the loop.
    """

    def __init__(
        self,
        doorbell: Path,
        *,
        on_wake: Callable[[], None] = lambda: None,
        timeouts: SupervisorTimeouts = SUPERVISOR,
    ) -> None:
        self._on_wake = on_wake
        self._timeouts = timeouts
        self.running: dict[str, Running] = {}
        self.stop_requested = False
        self.kept: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._watch_signals()
        bell = os.open(doorbell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(bell, selectors.EVENT_READ, partial(_drain, bell))

    def launch(self, name: str, command: Command, log: LogWriter, *, is_replica: bool = True) -> Running:
        """Start a child; it replaces an ended child of the same name. Raises `OSError`."""
        child = spawn(command, timeouts=self._timeouts)
        ends = {child.stdout: "INFO", child.stderr: "ERROR"}  # the service's severities
        one = Running(name=name, child=child, log=log, is_replica=is_replica, ends=ends)
        self.running[name] = one
        for end in ends:
            self._selector.register(end, selectors.EVENT_READ, partial(self._read_log, one, end))
        self._selector.register(child.status, selectors.EVENT_READ, partial(self._read_status, one))
        return one

    def run_once(self, seconds: float) -> None:
        """Wait up to `seconds` for events and handle them."""
        events = self._selector.select(seconds)
        self._on_wake()
        for key, _ in events:
            if self._selector.get_map().get(key.fd) is key:  # not closed by a handler before it
                key.data()

    def replicas(self) -> list[Running]:
        """Return the children that are replicas."""
        return [one for one in self.running.values() if one.is_replica]

    def unfinished(self) -> list[Running]:
        """Return the children that have not ended."""
        return [one for one in self.running.values() if not one.ended]

    def _read_log(self, one: Running, end: int) -> None:
        data = _read(end)
        if data:
            one.log.feed(one.ends[end], data)
        elif data == b"":
            self._close_log(one, end)

    def _close_log(self, one: Running, end: int) -> None:
        self._selector.unregister(end)
        os.close(end)
        del one.ends[end]

    def _read_status(self, one: Running) -> None:
        data = _read(one.child.status)
        if data:
            one.child.feed(data)
        elif data == b"":
            self._selector.unregister(one.child.status)
            one.shim_killed = one.child.finish()
            if one.shim_killed:
                kept = {*self.kept, *(each.child.shim for each in self.unfinished())}
                kill_strays(kept, seconds=self._timeouts.strays)
            for end in list(one.ends):
                while rest := _read(end):
                    one.log.feed(one.ends[end], rest)
                self._close_log(one, end)
            one.log.end_lines()
            one.ended = True

    def _watch_signals(self) -> None:
        wake_r, wake_w = os.pipe()
        os.set_blocking(wake_r, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._selector.register(wake_r, selectors.EVENT_READ, partial(_drain, wake_r))

    def _on_term(self, *_: object) -> None:
        self.stop_requested = True


def _read(end: int) -> bytes | None:
    """Read what is available; return b"" at the end, None if there is nothing now."""
    try:
        return os.read(end, _READ)
    except BlockingIOError:
        return None


def _drain(end: int) -> None:
    while _read(end):
        pass


class Exits:
    """The ends of replicas in the order in which they happened.

    Often one replica fails because another did, and the two are reported in any order. So the first reported
    end waits for the reports of other programs that have ended already. `settled_at`, on the machine's clock,
    is the end of that wait; None while no end is reported.
    """

    def __init__(self, *, settle_seconds: float) -> None:
        self._settle_seconds = settle_seconds
        self.settled_at: float | None = None

    def take(self, running: Collection[Running]) -> Running | None:
        """Return the replica that ended first and was not handled yet, or None if no end is settled."""
        ends = [one for one in running if one.child.exit_code is not None and not one.taken]
        if not ends:
            self.settled_at = None
            return None
        if self.settled_at is None:
            self.settled_at = machine_clock.monotonic() + self._settle_seconds
        if machine_clock.monotonic() < self.settled_at and any(one.child.may_have_ended() for one in running):
            return None
        first = min(ends, key=lambda one: one.child.ended_at or 0)
        if not first.ended:  # its log is not complete; the shim's end wakes the loop
            self.settled_at = machine_clock.monotonic() + self._settle_seconds
            return None
        first.taken = True
        return first
