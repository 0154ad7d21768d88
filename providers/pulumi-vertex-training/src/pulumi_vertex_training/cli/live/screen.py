"""A view that is drawn again and again on a terminal, until a key or the end of what it shows."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.runs.monitoring.watching import is_transient
from vertex_training.command_line.errors import CommandError, InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Value = TypeVar("Value")

_KEY_SECONDS = 0.1
"""Seconds until a key is noticed, and the least time between two frames."""

_FRAME_SECONDS = 1.0
"""A frame shows times that pass, so it is drawn at least so often."""


def is_live(*, as_json: bool) -> bool:
    """Return whether standard output is a terminal on which a view can be drawn again in place."""
    return not as_json and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True, kw_only=True)
class Frame(Generic[Value]):
    """The facts to draw: the latest value, and why there is no newer one ("" if nothing is wrong)."""

    value: Value
    trouble: str = ""


class Reader(Generic[Value]):
    """Reads a value at an interval, in a thread of its own, so that a slow service delays no key.

    An error that may pass is shown, and the read repeated. Any other error is raised by `latest`.
    """

    def __init__(
        self,
        read: Callable[[], Value],
        *,
        first: Value,
        seconds: float,
        done: Callable[[Value], bool] = lambda _: False,
    ) -> None:
        """`first` is the value until the next one is read; `done` returns whether a value is the last one."""
        self._read = read
        self._seconds = seconds
        self._done = done
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._frame = Frame(value=first)
        self._failure: Exception | None = None
        self._ended = done(first)
        # A daemon: a read without an answer must not hold up the end of the command.
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()

    def latest(self) -> tuple[Frame[Value], bool]:
        """Return the latest frame, and whether it is the last one. Raises the error that ended the reads."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            return self._frame, self._ended

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            if self._ended:
                return
            frame, failure = self._frame, self._failure
            try:
                frame = Frame(value=self._read())
            except (CloudError, CommandError) as error:
                if passes(error):
                    frame = Frame(value=frame.value, trouble=str(error))
                else:
                    failure = error
            except Exception as error:
                failure = error
            ended = failure is not None or (not frame.trouble and self._done(frame.value))
            with self._lock:
                self._frame, self._failure, self._ended = frame, failure, ended


def passes(error: CloudError | CommandError) -> bool:
    """Return whether a later read may succeed: the service, or the emulator, may answer again."""
    return is_transient(error) if isinstance(error, CloudError) else not isinstance(error, InputError)


def show(
    reader: Reader[Value],
    draw: Callable[[Frame[Value], Console], RenderableType],
) -> tuple[Frame[Value], bool]:
    """Draw the frames of a reader on the terminal until the last one, or until `q` or Ctrl-C.

    Return the frame that was drawn last, and whether it was the last one. The terminal is left as it was.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False, markup=False, emoji=False)
    reader.start()
    frame, ended = reader.latest()
    try:
        with (
            contextlib.suppress(KeyboardInterrupt),
            terminated_as_interrupted(),
            _keys() as pressed,
            Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False) as live,
        ):
            waited = _FRAME_SECONDS
            while not ended:
                newest, ended = reader.latest()
                if newest is not frame or ended or waited >= _FRAME_SECONDS:
                    frame, waited = newest, 0.0
                    live.update(draw(frame, console), refresh=True)
                if not ended and pressed(_KEY_SECONDS) in ("q", "Q"):
                    break
                waited += _KEY_SECONDS
    finally:
        reader.stop()
    return frame, ended


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C, so that the terminal is restored and no process is left."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Yield a function that waits for a key for some seconds, and returns it, or "".

    Keys are read one by one and not shown. Without a terminal on standard input, none is read.
    """
    wait = threading.Event().wait
    if not sys.stdin.isatty():

        def no_key(seconds: float) -> str:
            wait(seconds)
            return ""

        yield no_key
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    closed = False

    def key(seconds: float) -> str:
        nonlocal closed
        if closed:
            wait(seconds)
            return ""
        if not select.select([descriptor], [], [], seconds)[0]:
            return ""
        read = os.read(descriptor, 1)
        closed = not read  # the terminal was closed; without this, the loop would spin
        return read.decode("ascii", "replace")

    try:
        tty.setcbreak(descriptor)
        yield key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
