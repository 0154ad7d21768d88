"""Lists of jobs: which ones a filter lets through, and page tokens."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import json
from collections.abc import Callable

from vertex_training.emulator import filters
from vertex_training.emulator.jobs import clock, states
from vertex_training.emulator.jobs.store import Record
from vertex_training.emulator.rpc import RpcError

_ORDER = ("=", "!=", "<", "<=", ">", ">=")
_ALLOWED = {
    "display_name": ("=", "!=", ":"),
    "state": ("=", "!="),
    "create_time": _ORDER,
    "labels": ("=", "!=", ":"),
}
_CAMEL = {"displayName": "display_name", "createTime": "create_time"}


def job_filter(text: str) -> Callable[[Record], bool]:
    """The test that a list's `filter` stands for. Raises `RpcError` INVALID_ARGUMENT.

    Fields and operators are those that the API's message names: display_name, state, create_time, labels.KEY.
    """
    try:
        expression = filters.mapped(filters.parse(text), _checked)
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error
    return lambda record: filters.matches(expression, lambda comparison: _holds(comparison, record))


def _checked(comparison: filters.Comparison) -> filters.Comparison:
    head, dot, key = comparison.field.partition(".")
    head = _CAMEL.get(head, head)
    if head not in _ALLOWED or (head == "labels") != bool(dot):
        raise filters.FilterError(
            f"{comparison.field!r} cannot be filtered by; use display_name, state, create_time or labels.KEY"
        )
    if comparison.operator not in _ALLOWED[head]:
        raise filters.FilterError(
            f"{comparison.field} cannot be compared with {comparison.operator}, only with "
            f"{' '.join(_ALLOWED[head])}"
        )
    value = comparison.value
    if head == "create_time":
        try:
            value = clock.text(clock.parse(value))
        except ValueError:
            raise filters.FilterError(f"{value!r} is not a time, such as 2026-01-31T12:00:00Z") from None
    if head == "state" and value not in states.names():
        raise filters.FilterError(f"{value!r} is not a state; they are {', '.join(states.names())}")
    return filters.Comparison(f"{head}{dot}{key}", comparison.operator, value)


def _holds(comparison: filters.Comparison, record: Record) -> bool:
    head, _, key = comparison.field.partition(".")
    operator, wanted = comparison.operator, comparison.value
    if head == "labels":
        if operator == ":":
            return key in record.job.labels and wanted in ("*", record.job.labels[key])
        return (key in record.job.labels and record.job.labels[key] == wanted) == (operator == "=")
    if head == "display_name":
        if operator == ":":
            pattern = wanted if "*" in wanted else f"*{wanted}*"
            return fnmatch.fnmatchcase(
                record.job.display_name, pattern.replace("[", "[[]").replace("?", "[?]")
            )
        return bool((record.job.display_name == wanted) == (operator == "="))
    actual = record.state if head == "state" else clock.of_microseconds(record.created)
    return {
        "=": actual == wanted,
        "!=": actual != wanted,
        "<": actual < wanted,
        "<=": actual <= wanted,
        ">": actual > wanted,
        ">=": actual >= wanted,
    }[operator]


def page_token(position: object, *, query: str) -> str:
    """An opaque token for the page after `position`; it goes with one query only."""
    text = json.dumps([position, _fingerprint(query)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_page_token(token: str, *, query: str) -> list[object] | None:
    """The position in a token, None for an empty one. Raises `RpcError` for another query's token."""
    if not token:
        return None
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position, fingerprint = json.loads(text)
        if fingerprint != _fingerprint(query) or not isinstance(position, list) or len(position) != 2:
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise RpcError(
            "INVALID_ARGUMENT",
            "The page token is not valid here. Use the token of the page before, with the same filter and "
            "order.",
        ) from None
    return position


def _fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()[:16]
