"""Cloud Logging's query language, for the fields that entries have, with RE2 patterns.

In addition to comparisons, as `filters` parses them, it has patterns (`=~`, `!~`), several values of a field
in parentheses, a field alone, which has to exist, words alone, which any field may contain, comments, and
functions, of which log_id is implemented. Except for patterns, which are RE2's, case is ignored. Source:
Cloud Logging documentation, "Logging query language".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.filters import And, Comparison, Expression, FilterError, Not, Or
from vertex_emulator.server.rpc.patterns import PatternError, compiled

SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
FIELDS = (
    "resource.type",
    "resource.labels",
    "timestamp",
    "receiveTimestamp",
    "insertId",
    "severity",
    "logName",
    "labels",
    "textPayload",
    "jsonPayload",
    "protoPayload",
    "httpRequest",
    "operation",
    "trace",
    "traceSampled",
    "spanId",
    "sourceLocation",
)
ANY_FIELD = ""
"""The field of a comparison that is a word alone."""

FUNCTIONS = ("log_id", "sample", "ip_in_net", "search", "source", "cast", "regexp_extract")
"""Names that are functions, not words, before a parenthesis."""

_TIMES = ("timestamp", "receiveTimestamp")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|--[^\n]*')


class _Parser(filters.Parser):
    token = re.compile(
        r"""\s*(?:(?P<op><=|>=|!=|=~|!~|[=<>:])|(?P<paren>[()])|(?P<minus>-)(?=[A-Za-z("])|"""
        r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s()=<>!:"'~]+))"""
    )

    def _comparison(self) -> Expression:
        alone_if_quoted = self._peek()[0] == "quoted"
        field = self._path()
        kind, operator = self._peek()
        if operator == "(" and not alone_if_quoted and field.lower() in FUNCTIONS:
            return self._call(field)
        if kind != "op":
            known = not alone_if_quoted and is_field(field)
            return Comparison(field, ":", "*") if known else Comparison(ANY_FIELD, ":", field)
        self._at += 1
        if self._peek() == ("paren", "("):
            self._at += 1
            comparison = self._values(field, operator)
            if self._peek() != ("paren", ")"):
                raise FilterError("a parenthesis is not closed")
            self._at += 1
            return comparison
        return Comparison(field, operator, self._value(field, operator))

    def _call(self, function: str) -> Expression:
        if function.lower() != "log_id":
            raise FilterError(f"the emulator does not support the function {function}")
        self._at += 1
        log = self._value("log_id", "(")
        if self._peek() != ("paren", ")"):
            raise FilterError("log_id has one argument, in quotes")
        self._at += 1
        names = f"{re.escape(quote(log, safe=''))}|{re.escape(log)}"
        return Comparison("logName", "=~", f"^[^/]+/[^/]+/logs/(?:{names})$")

    def _values(self, field: str, operator: str) -> Expression:
        """Parse values between parentheses: OR binds more tightly than AND, as between comparisons."""
        all_of = [self._one_of(field, operator)]
        while self._take_word("AND") or self._peek()[0] in ("word", "quoted", "minus"):
            all_of.append(self._one_of(field, operator))
        return all_of[0] if len(all_of) == 1 else And(tuple(all_of))

    def _one_of(self, field: str, operator: str) -> Expression:
        one_of = [self._one(field, operator)]
        while self._take_word("OR"):
            one_of.append(self._one(field, operator))
        return one_of[0] if len(one_of) == 1 else Or(tuple(one_of))

    def _one(self, field: str, operator: str) -> Expression:
        if self._take_word("NOT"):
            return Not(self._one(field, operator))
        return Comparison(field, operator, self._value(field, operator))


def parse(text: str) -> Expression:
    """Parse a query; every entry matches an empty one. Raises `FilterError`, also for unknown fields."""
    bare = _COMMENT.sub(lambda found: found[1] or " ", text)
    return filters.mapped(_Parser(bare).whole(), _checked)


def is_field(name: str) -> bool:
    """Return whether entries can have a field of that name."""
    return any(name == each or name.startswith(f"{each}.") for each in FIELDS)


def predicate_of(document: Mapping[str, Any]) -> Callable[[Comparison], bool]:
    """Return a predicate: whether a comparison holds for an entry in the API's JSON."""
    return lambda comparison: _holds(comparison, document)


def _checked(comparison: Comparison) -> Comparison:
    field, operator, value = comparison.field, comparison.operator, comparison.value
    if field != ANY_FIELD and not is_field(field):
        raise FilterError(f"{field!r} cannot be filtered by; use {', '.join(FIELDS)}")
    if operator in ("=~", "!~"):
        try:
            compiled(value)
        except PatternError as error:
            raise FilterError(f"{value!r} is not a regular expression: {error}") from None
    elif field in _TIMES and value != "*":
        value = filters.timestamp(value)
    elif field == "severity" and value != "*":
        value = value.upper()
        if value not in SEVERITIES:
            raise FilterError(f"{value!r} is not a severity; they are {', '.join(SEVERITIES)}")
    return Comparison(field, operator, value)


def _holds(comparison: Comparison, document: Mapping[str, Any]) -> bool:
    wanted, operator = comparison.value, comparison.operator
    if comparison.field == ANY_FIELD:
        return any(wanted.lower() in text.lower() for text in _texts(document))
    value = _value_at(document, comparison.field)
    if value is None:
        return False
    if operator == ":":
        return wanted == "*" or any(wanted.lower() in text.lower() for text in _texts(value))
    actual = _text(value)
    if operator in ("=~", "!~"):
        return compiled(wanted)(actual) == (operator == "=~")
    one: Any = actual.lower()
    other: Any = wanted.lower()
    if comparison.field == "severity":
        one, other = SEVERITIES.index(actual), SEVERITIES.index(wanted)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        one, other = float(value), _number(wanted)
        if other is None:
            return operator == "!="
    return filters.compare(one, operator, other)


def _value_at(document: object, path: str) -> Any:
    """Return the value at a dotted path; names in an entry may have dots themselves."""
    if not path:
        return document
    if not isinstance(document, Mapping):
        return None
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in document and (value := _value_at(document[name], ".".join(parts[count:]))) is not None:
            return value
    return None


def _texts(value: object) -> list[str]:
    """Return all values within a value."""
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [_text(value)]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
