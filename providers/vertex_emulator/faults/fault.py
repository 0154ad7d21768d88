"""A fault and its JSON form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from vertex_emulator.vertex.records import LookBack

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


def _combination_problems(method: Any, *, message: Any, stall: Any, **kinds: Any) -> list[tuple[str, str]]:
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


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _MAX_TEXT and given.isprintable()


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= _MAX_COUNT


def _is_time(given: Any) -> bool:
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return is_number and 0 <= given <= _MAX_SECONDS  # NaN is not between anything


def _is_look_back(given: Any) -> bool:
    if not isinstance(given, Mapping) or len(given) != 1:
        return False
    return ("seconds" in given and _is_time(given["seconds"])) or (
        "changes" in given and _is_count(given["changes"])
    )
