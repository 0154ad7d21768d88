"""`/_local/clock`: the emulator's time stands still, jumps ahead or runs at another speed."""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import IO

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.http.numbers import body_of, number, seconds
from vertex_emulator.kernel import clock as clocks
from vertex_emulator.kernel.clock import Clock, Setting
from vertex_emulator.kernel.data_folder import write_private

FASTEST = 10_000.0
"""A week in a minute."""

_LONGEST_TICK = 0.05

_PATH = "/_local/clock"


class ClockControl:
    """Changes one clock: in this process, in the file `path`, and for whoever `changing` tells.

    `changing` is entered with the microseconds that the time of day jumps by while no time passes.
    """

    def __init__(
        self, clock: Clock, path: Path, *, changing: Callable[[int], AbstractContextManager[None]]
    ) -> None:
        self._clock = clock
        self._path = path
        self._changing = changing
        self._lock = threading.Lock()

    def freeze(self) -> None:
        """Let the clock stand still."""
        self._change(rate=0.0)

    def advance(self, by: float) -> None:
        """Let so many seconds pass at once; a clock that stands still goes on standing.

        Raises `HttpError` 400 beyond the year 9999.
        """
        self._change(by=by)

    def scale(self, factor: float) -> None:
        """Let so many seconds pass in one; a clock that stood still goes."""
        self._change(rate=factor)

    def reset(self) -> None:
        """The machine's time again."""
        with self._lock:
            files = self._next_tick()
            wall, steady = _here()
            self._set(self._clock.setting.real_again(wall=wall, steady=steady, files=files))

    def routes(self) -> Sequence[Route]:
        """GET the clock; POST to freeze, advance, scale and reset, each answered with the clock."""
        return (
            Route("GET", _PATH, self._show),
            Route("POST", f"{_PATH}/freeze", self._post_freeze),
            Route("POST", f"{_PATH}/advance", self._post_advance),
            Route("POST", f"{_PATH}/scale", self._post_scale),
            Route("POST", f"{_PATH}/reset", self._post_reset),
        )

    def _show(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response(
            {"time": self._clock.now(), "realTime": clocks.now(), "rate": self._clock.setting.rate}
        )

    def _post_freeze(self, request: Request, match: re.Match[str]) -> Response:
        body_of(request)
        self.freeze()
        return self._show(request, match)

    def _post_advance(self, request: Request, match: re.Match[str]) -> Response:
        self.advance(seconds(body_of(request, "seconds"), "seconds"))
        return self._show(request, match)

    def _post_scale(self, request: Request, match: re.Match[str]) -> Response:
        what = "how many seconds pass in one, a number"
        factor = number(body_of(request, "factor"), "factor", least=1 / FASTEST, most=FASTEST, what=what)
        self.scale(factor)
        return self._show(request, match)

    def _post_reset(self, request: Request, match: re.Match[str]) -> Response:
        body_of(request)
        self.reset()
        return self._show(request, match)

    def _change(self, *, rate: float | None = None, by: float = 0.0) -> None:
        with self._lock:
            files = self._next_tick()
            wall, steady = _here()
            if by and not self._clock.setting.has_left(by, wall=wall):
                what = (
                    f"seconds is {by:g}, but the clock ends with the year 9999. Advance by less, or reset it."
                )
                raise HttpError(400, "", what)
            self._set(self._clock.setting.changed(wall=wall, steady=steady, files=files, rate=rate, by=by))

    def _next_tick(self) -> int:
        """Wait until a file gets a later time than all files that are there; that time in microseconds.

        It takes a tick of the kernel, 10 ms at most; a file system that counts in seconds is not waited for.
        """
        with tempfile.TemporaryFile(dir=self._path.parent) as probe:
            first = found = _written(probe)
            until = time.monotonic() + _LONGEST_TICK
            while found == first and time.monotonic() < until:
                time.sleep(0.001)
                found = _written(probe)
        return found

    def _set(self, setting: Setting) -> None:
        old = self._clock.setting
        passed = round((setting.seconds - old.seconds_at(setting.steady)) * 1e6)
        with self._changing(setting.utc - old.utc_at(setting.wall) - passed):
            write_private(self._path, json.dumps(asdict(setting)).encode())
            self._clock.setting = setting


def _written(file: IO[bytes]) -> int:
    """Write to it; the time that it has then, in microseconds since 1970."""
    os.pwrite(file.fileno(), b".", 0)
    return os.fstat(file.fileno()).st_mtime_ns // 1000


def _here() -> tuple[int, float]:
    return time.time_ns() // 1000, time.monotonic()
