"""The active faults: their JSON form, which call matches which, its effect, and `/_local/faults`."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from vertex_emulator.server.http.connection import Intervention
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.services.resource_engine.history import LookBack, looking_back
from vertex_training.findings.words import did_you_mean

ALWAYS = "always"
"""Value of `times`: until the fault is removed."""

STATUSES = (401, 403, 404, 409, 429, 500, 503, 504)
STALE_LISTS = frozenset({"JobService.ListCustomJobs"})
"""Methods whose list can be stale; Cloud Storage's never are (Cloud Storage documentation, "Consistency")."""

_KEYS = ("method", "status", "message", "stall", "delay", "drop", "stale", "nth", "times")
_MAX_SECONDS = 3600.0
_MAX_COUNT = 1_000_000
_MAX_TEXT = 1000


class FaultError(ValueError):
    """The declaration of a fault is invalid; `problems` are pairs of field and sentence."""

    def __init__(self, problems: Collection[tuple[str, str]]) -> None:
        super().__init__(" ".join(sentence for _, sentence in problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of calls of `method`, from the `nth` on and so many `times` (None: until it is removed).

    `stall`: seconds that pass first. Then one of: the answer `status` with `message`; the connection is
    closed without an answer (`drop`), before or after the call was carried out; an old state of a list
    (`stale`); or, with a stall alone, the true answer. With drop "after" the stall comes after the call was
    carried out, and so does `delay`: seconds before the true answer.
    """

    method: str
    status: int | None = None
    message: str | None = None
    stall: float = 0.0
    delay: float | None = None
    drop: str | None = None
    stale: LookBack | None = None
    nth: int = 1
    times: int | None = 1

    def matches(self, call: str) -> bool:
        """Return whether calls of that method are counted."""
        return matches_name(call, self.method) and (self.stale is None or call in STALE_LISTS)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that `parse_fault` reads."""
        stale = self.stale and {
            name: value
            for name, value in (("seconds", self.stale.seconds), ("changes", self.stale.changes))
            if value is not None
        }
        return {
            "method": self.method,
            "status": self.status,
            "message": self.message,
            "stall": self.stall,
            "delay": self.delay,
            "drop": self.drop,
            "stale": stale,
            "nth": self.nth,
            "times": ALWAYS if self.times is None else self.times,
        }


def matches_name(call: str, pattern: str) -> bool:
    """Return whether a pattern matches a method.

    Parts before a dot may be left out, those after one too, and * matches everything.
    """
    parts = call.split(".")
    names = [".".join(parts[first:]) for first in range(len(parts))]
    return any(fnmatchcase(name, pattern) or name.startswith(f"{pattern}.") for name in names)


def parse_fault(document: object) -> Fault:
    """Parse the JSON form of a fault. Raises `FaultError` with all problems."""
    if not isinstance(document, Mapping):
        raise FaultError([("", "A fault is a JSON object with `method` and an effect.")])
    problems = [
        (str(key), f"{key!r} is not known. A fault has {', '.join(_KEYS)}.")
        for key in document
        if key not in _KEYS
    ]

    def value(name: str, fits: Callable[[Any], bool], rule: str) -> Any:
        given = document.get(name)
        if given is None or fits(given):
            return given
        problems.append((name, f"{name} is {given!r}; it must be {rule}."))
        return None

    method = value("method", _is_text, "the name of a method, such as JobService.CreateCustomJob")
    status = value("status", lambda given: _is_count(given) and given in STATUSES, f"one of {STATUSES}")
    message = value("message", _is_text, f"a text of at most {_MAX_TEXT} characters")
    stall = value("stall", _is_time, f"a number of seconds up to {_MAX_SECONDS:g}")
    delay = value("delay", _is_time, f"a number of seconds up to {_MAX_SECONDS:g}")
    drop = value("drop", lambda given: given in ("before", "after"), '"before" or "after"')
    stale = value("stale", _is_look_back, 'like {"seconds": 5} or {"changes": 1}')
    nth = value("nth", _is_count, "a whole number from 1")
    times = value(
        "times", lambda given: given == ALWAYS or _is_count(given), 'a whole number from 1 or "always"'
    )
    if not problems:
        kinds = {"status": status, "drop": drop, "stale": stale, "delay": delay or None}
        problems += _combination_problems(method, message=message, stall=stall, **kinds)
    if problems:
        raise FaultError(problems)
    return Fault(
        method=method,
        status=status,
        message=message,
        stall=float(stall or 0),
        delay=None if delay is None else float(delay),
        drop=drop,
        stale=LookBack(**stale) if stale else None,
        nth=nth or 1,
        times=None if times == ALWAYS else times or 1,
    )


def _combination_problems(
    method: object, *, message: object, stall: object, **kinds: object
) -> list[tuple[str, str]]:
    given = [name for name, value in kinds.items() if value is not None]
    problems = []
    if method is None:
        problems.append(("method", "method is missing. Name the calls to match, or * for all."))
    if len(given) > 1:
        problems.append((given[1], f"{' and '.join(given)} exclude each other. Declare a fault for each."))
    if not given and not stall:
        problems.append(("status", "The fault has no effect. Set status, drop, stale, delay or stall."))
    if message is not None and kinds["status"] is None:
        problems.append(("message", "message needs a status. Set status too."))
    return problems


def _is_text(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _MAX_TEXT and given.isprintable()


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= _MAX_COUNT


def _is_time(given: object) -> bool:
    if not isinstance(given, (int, float)) or isinstance(given, bool):
        return False
    return 0 <= given <= _MAX_SECONDS  # NaN is not between anything


def _is_look_back(given: object) -> bool:
    if not isinstance(given, Mapping) or len(given) != 1:
        return False
    return ("seconds" in given and _is_time(given["seconds"])) or (
        "changes" in given and _is_count(given["changes"])
    )


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
    hint = did_you_mean(fault.method, names)
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
