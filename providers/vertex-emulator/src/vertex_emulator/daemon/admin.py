"""The emulator's own paths: health, info, requests, clock and shutdown."""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from vertex_emulator.kernel import clock as clocks
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock, Setting
from vertex_emulator.kernel.disk.data_folder import write_private
from vertex_emulator.server.http.auth import HEALTH
from vertex_emulator.server.http.bodies import body_of, number, seconds
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.http.request_log import RequestLog

_DIGITS = 18
MOST_SECONDS = 30
"""Seconds for which a request waits for a change at most."""

_NONCE = re.compile(r"[0-9a-zA-Z_-]{16,128}")


@dataclass(frozen=True, kw_only=True)
class Admin:
    """The data and actions of the admin paths.

    `prove` returns the response to a nonce that requires the token. `info` is called for each request.
    `changes` returns what changed after a number, and waits that many seconds for the first change.
    """

    version: str
    instance: str
    prove: Callable[[str], str]
    info: Callable[[], Mapping[str, Any]]
    changes: Callable[[int | None, float], Mapping[str, Any]]
    requests: RequestLog
    shut_down: Callable[[], None]

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", re.escape(HEALTH), self._health),
            Route("GET", "/_local/info", self._info),
            Route("GET", "/_local/changes", self._changes),
            Route("GET", "/_local/requests", self._requests),
            Route("DELETE", "/_local/requests", self._forget_requests),
            Route("POST", "/_local/shutdown", self._shutdown),
        )

    def _health(self, request: Request, _: re.Match[str]) -> Response:
        """Return the status without authentication; it reveals only the emulator's identity."""
        answer = {"status": "ok", "version": self.version, "instance": self.instance}
        nonce = request.parameter("nonce")
        if nonce is not None:
            if not _NONCE.fullmatch(nonce):
                raise HttpError(400, "", "nonce must be 16 to 128 letters, digits, '-' or '_'.")
            answer["proof"] = self.prove(nonce)
        return json_response(answer)

    def _info(self, _request: Request, _: re.Match[str]) -> Response:
        return json_response(self.info())

    def _changes(self, request: Request, _: re.Match[str]) -> Response:
        after = None
        if request.parameter("after") is not None:
            after = _number(request, "after", "", "the number of a change")
        wait = _number(request, "waitSeconds", "0", "a number of seconds")
        return json_response(self.changes(after, min(wait, MOST_SECONDS)))

    def _requests(self, request: Request, _: re.Match[str]) -> Response:
        after = _number(request, "after", "0", "the number of a request")
        last = None
        if request.parameter("last") is not None:
            last = _number(request, "last", "", "a number of requests")
        entries = self.requests.entries(after=after, last=last)
        return json_response({"requests": entries, "counts": self.requests.counts()})

    def _forget_requests(self, _request: Request, _: re.Match[str]) -> Response:
        self.requests.clear()
        return json_response({})

    def _shutdown(self, _request: Request, _: re.Match[str]) -> Response:
        self.shut_down()
        return json_response({"status": "stopping"})


def _number(request: Request, name: str, default: str, what: str) -> int:
    given = request.parameter(name, default) or ""
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise HttpError(400, "", f"{name} must be {what}, not {given!r}.")
    return int(given)


FASTEST = 10_000.0
"""Maximum rate of the clock: a week in a minute."""

_LONGEST_TICK = 0.05

_PATH = "/_local/clock"


class ClockControl:
    """Changes the clock of this process and its file `path`, within the context `changing`.

    `changing` gets the microseconds by which the time of day jumps while no time passes.
    """

    def __init__(
        self, clock: Clock, path: Path, *, changing: Callable[[int], AbstractContextManager[None]]
    ) -> None:
        self._clock = clock
        self._path = path
        self._changing = changing
        self._lock = threading.Lock()

    def freeze(self) -> None:
        """Freeze the clock."""
        self._change(rate=0.0)

    def advance(self, by: float) -> None:
        """Advance the clock by that many seconds; a frozen clock stays frozen.

        Raises `HttpError` 400 beyond the year 9999.
        """
        self._change(by=by)

    def scale(self, factor: float) -> None:
        """Let that many seconds pass per second. A frozen clock runs again."""
        self._change(rate=factor)

    def reset(self) -> None:
        """Reset the clock to the machine's time."""
        with self._lock:
            files = self._next_tick()
            wall, steady = _machine_time()
            self._set(self._clock.setting.following_machine(wall=wall, steady=steady, files=files))

    def routes(self) -> Sequence[Route]:
        """Return the routes to get the clock, and to freeze, advance, scale and reset it.

        Each returns the clock.
        """
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
        what = "a number, the emulator's seconds for each real second,"
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
            wall, steady = _machine_time()
            if by and not self._clock.setting.can_advance(by, wall=wall):
                what = (
                    f"seconds is {by:g}, but the clock ends with the year 9999. Advance by less, or reset it."
                )
                raise HttpError(400, "", what)
            self._set(self._clock.setting.changed(wall=wall, steady=steady, files=files, rate=rate, by=by))

    def _next_tick(self) -> int:
        """Wait until a new file is later than all existing files, and return its time in microseconds.

        This takes a tick of the kernel, 10 ms at most. A file system with times in seconds is not waited for.
        """
        with tempfile.TemporaryFile(dir=self._path.parent) as probe:
            first = found = _touch(probe)
            until = machine_clock.monotonic() + _LONGEST_TICK
            while found == first and machine_clock.monotonic() < until:
                machine_clock.sleep(0.001)
                found = _touch(probe)
        return found

    def _set(self, setting: Setting) -> None:
        old = self._clock.setting
        passed = round((setting.seconds - old.seconds_at(setting.steady)) * 1e6)
        with self._changing(setting.utc - old.utc_at(setting.wall) - passed):
            write_private(self._path, json.dumps(asdict(setting)).encode())
            self._clock.setting = setting


def _touch(file: IO[bytes]) -> int:
    """Write to the file and return its modification time in microseconds since 1970."""
    os.pwrite(file.fileno(), b".", 0)
    return os.fstat(file.fileno()).st_mtime_ns // 1000


def _machine_time() -> tuple[int, float]:
    return machine_clock.unix_nanoseconds() // 1000, machine_clock.monotonic()
