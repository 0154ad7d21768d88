"""Filters of Cloud Monitoring, for the fields that a time series of quotas has.

In addition to comparisons, as `filters` parses them, a field can be compared with a function: `starts_with`,
`ends_with`, `has_substring`, `one_of` and `monitoring.regex.full_match`. Source: Cloud Monitoring
documentation, "Monitoring filters", Comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.filters import Comparison, Expression, FilterError, Not, Or
from vertex_emulator.server.rpc.patterns import PatternError, compiled
from vertex_training.findings.words import did_you_mean

PROJECT_ID = "resource.labels.project_id"

_OPERATORS = ("=", "!=", ":")
_ONE_OF = "one_of"
_FULL_MATCH = "monitoring.regex.full_match"
_FUNCTIONS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "starts_with": str.startswith,
        "ends_with": str.endswith,
        "has_substring": str.__contains__,
        _FULL_MATCH: lambda value, pattern: compiled(f"^(?:{pattern})$")(value),
    }
)
_NAMES = (*_FUNCTIONS, _ONE_OF)


def parse(text: str) -> Expression:
    """Parse a filter. The operators of its comparisons are =, != and `:`, and names of functions.

    Raises `FilterError`.
    """
    return _Parser(text).whole()


def matches(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Return whether a series with these fields matches."""
    return filters.matches(expression, lambda comparison: _holds(comparison, labels))


class _Parser(filters.Parser):
    token = re.compile(
        r"""\s*(?:(?P<op><=|>=|!=|[=<>:])|(?P<paren>[()])|(?P<comma>,)|(?P<minus>-)(?=[A-Za-z(])|"""
        r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s()=<>!:,"']+))"""
    )

    def _comparison(self) -> Expression:
        field = self._path()
        kind, operator = self._peek()
        if operator not in _OPERATORS:
            raise FilterError(
                f"{operator} does not fit {field}; it can be compared with {' '.join(_OPERATORS)}"
                if kind == "op"
                else f"{field!r} is not a comparison; write one, such as FIELD = VALUE"
            )
        self._at += 1
        is_word = self._peek()[0] == "word"
        value = self._value(field, operator)
        if not is_word or self._peek() != ("paren", "("):
            return Comparison(field, operator, value)
        if operator == ":":
            raise FilterError(f"{value} is compared with = or !=")
        found = self._call(field, value)
        return Not(found) if operator == "!=" else found

    def _call(self, field: str, function: str) -> Expression:
        if function not in _NAMES:
            hint = did_you_mean(function, _NAMES)
            raise FilterError(f"there is no function {function!r}.{hint} There are {', '.join(_NAMES)}")
        values = self._arguments(function)
        if function == _ONE_OF:
            equal = tuple(Comparison(field, "=", value) for value in values)
            return equal[0] if len(equal) == 1 else Or(equal)
        if len(values) != 1:
            raise FilterError(f"{function} has one argument, not {len(values)}")
        if function == _FULL_MATCH:
            try:
                compiled(values[0])
            except PatternError as error:
                raise FilterError(f"{values[0][:200]!r} is not a pattern: {error}") from error
        return Comparison(field, function, values[0])

    def _arguments(self, function: str) -> list[str]:
        self._at += 1
        values = [self._value(function, "(")]
        while self._peek() == ("comma", ","):
            self._at += 1
            values.append(self._value(function, "("))
        if self._peek() != ("paren", ")"):
            raise FilterError("a parenthesis is not closed")
        self._at += 1
        return values


def _holds(comparison: Comparison, labels: Mapping[str, str]) -> bool:
    field = comparison.field.replace(".label.", ".labels.")
    if field == "project":
        field = PROJECT_ID
    value, operator, wanted = labels.get(field, ""), comparison.operator, comparison.value
    if operator in _FUNCTIONS:
        return _FUNCTIONS[operator](value, wanted)
    if operator == ":":
        return wanted in value
    is_project = field == PROJECT_ID and value != ""
    equal = value == wanted or (is_project and project_number(value) == project_number(wanted))
    return equal == (operator == "=")
