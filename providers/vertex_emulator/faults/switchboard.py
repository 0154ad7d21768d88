"""The active faults: which call matches which fault, its effect, and `/_local/faults`."""

from __future__ import annotations

import contextlib
import difflib
import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from vertex_emulator.faults.fault import STALE_LISTS, Fault, FaultError, matches_name, parse_fault
from vertex_emulator.http.connection import Intervention
from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.vertex.records import looking_back

MAX_FAULTS = 1000


class DroppedError(ConnectionError):
    """The connection is to be closed without an answer."""


@dataclass
class ActiveFault:
    """A fault that is set. It has seen `seen` calls of its method, spoilt `fired` and now holds `held`."""

    number: int
    fault: Fault
    seen: int = 0
    fired: int = 0
    held: int = 0
    removed: threading.Event = field(default_factory=threading.Event)

    def is_due(self) -> bool:
        left = self.fault.times is None or self.fired < self.fault.times
        return left and self.seen >= self.fault.nth

    def to_json(self) -> dict[str, Any]:
        """Return the fault with its number and its counts."""
        counts = {"seen": self.seen, "fired": self.fired, "held": self.held}
        return {"number": self.number, **self.fault.to_json(), **counts}


class Faults:
    """All faults of an emulator, oldest first. A fault whose times are used up stays until it is removed."""

    def __init__(self) -> None:
        self._active: list[ActiveFault] = []
        self._lock = threading.Lock()
        self._number = 0

    def add(self, fault: Fault) -> dict[str, Any]:
        """Set a fault. Return it as JSON, with its number. Raises `HttpError` 429 beyond `MAX_FAULTS`."""
        with self._lock:
            if len(self._active) >= MAX_FAULTS:
                raise HttpError(
                    429, "", f"There are {MAX_FAULTS} faults already. Remove some first: DELETE {_PATH}."
                )
            self._number += 1
            active = ActiveFault(self._number, fault)
            self._active.append(active)
            return active.to_json()

    def to_json(self) -> list[dict[str, Any]]:
        """Return the faults that are set."""
        with self._lock:
            return [active.to_json() for active in self._active]

    def clear(self) -> int:
        """Remove all faults; stalled calls continue at once. Return how many there were."""
        return self._remove(lambda _: True)

    def remove(self, number: int) -> bool:
        """Remove one fault. Return False if it does not exist."""
        return self._remove(lambda active: active.number == number) > 0

    def _remove(self, selects: Callable[[ActiveFault], bool]) -> int:
        with self._lock:
            gone = [active for active in self._active if selects(active)]
            self._active = [active for active in self._active if not selects(active)]
        for active in gone:
            active.removed.set()
        return len(gone)

    def due(self, call: str) -> Intervention | None:
        """Count a call. Return the intervention of the oldest fault that matches it, or None."""
        if not self._active or not call:
            return None
        chosen = None
        with self._lock:
            for active in self._active:
                if not active.fault.matches(call):
                    continue
                active.seen += 1
                if chosen is None and active.is_due():
                    active.fired += 1
                    chosen = active
        if chosen is None:
            return None
        return Intervention(chosen.number, partial(self._carry_out, chosen, call))

    def _carry_out(self, active: ActiveFault, call: str, act: Callable[[], Response]) -> Response:
        """Answer a call that a fault matches. Raises `HttpError`, `DroppedError`."""
        fault = active.fault
        if fault.drop == "after":
            with contextlib.suppress(HttpError):
                _discard(act())
            self._hold(active, fault.stall)
            raise DroppedError
        self._hold(active, fault.stall)
        if fault.drop == "before":
            raise DroppedError
        if fault.status is not None:
            raise HttpError(
                fault.status, "", fault.message or f"Fault {active.number}: {call} fails as declared."
            )
        if fault.stale is not None:
            with looking_back(fault.stale):
                return act()
        try:
            return act()
        finally:
            self._hold(active, fault.delay or 0.0)

    def _hold(self, active: ActiveFault, seconds: float) -> None:
        """Let the time pass; stop when the fault is removed."""
        if not seconds:
            return
        with self._lock:
            active.held += 1
        active.removed.wait(seconds)
        with self._lock:
            active.held -= 1


def _discard(response: Response) -> None:
    body = response.body
    if isinstance(body, bytes):
        return
    source = getattr(body, "file", body)
    if hasattr(source, "close"):
        source.close()


_PATH = "/_local/faults"


def fault_routes(faults: Faults, calls: Collection[str]) -> Sequence[Route]:
    """Return the routes of faults. `calls` are the names of all methods; a fault must match at least one."""

    def listed(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"faults": faults.to_json()})

    def add(request: Request, _match: re.Match[str]) -> Response:
        try:
            fault = parse_fault(request.body.json())
            _check_method(fault, calls)
        except FaultError as error:
            raise _bad_request(error) from error
        return json_response(faults.add(fault))

    def clear(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"removed": faults.clear()})

    def remove(_request: Request, match: re.Match[str]) -> Response:
        if not faults.remove(int(match[1])):
            raise HttpError(404, "", f"There is no fault {match[1]}. GET {_PATH} lists all faults.")
        return json_response({"removed": 1})

    return (
        Route("GET", _PATH, listed),
        Route("POST", _PATH, add),
        Route("DELETE", _PATH, clear),
        Route("DELETE", rf"{_PATH}/([0-9]{{1,18}})", remove),
    )


def _check_method(fault: Fault, calls: Collection[str]) -> None:
    if any(fault.matches(call) for call in calls):
        return
    if any(matches_name(call, fault.method) for call in calls):
        lists = ", ".join(sorted(STALE_LISTS))
        raise FaultError([("stale", f"{fault.method} cannot be stale; only {lists} can.")])
    names = sorted(calls) + sorted(call.rpartition(".")[2] for call in calls)
    near = difflib.get_close_matches(fault.method, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise FaultError(
        [
            (
                "method",
                f"The emulator has no method {fault.method!r}.{hint} Names are like "
                "JobService.CreateCustomJob, storage.objects.insert, storage.* or *.",
            )
        ]
    )


def _bad_request(error: FaultError) -> HttpError:
    violations = [{"field": field, "description": sentence} for field, sentence in error.problems]
    details = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}
    return HttpError(400, "", str(error), details=(details,))
