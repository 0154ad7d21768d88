"""The part of the filter language of Google's list methods (AIP-160) that the emulator's services use.

    expression  = alternatives { ["AND"] alternatives }
    alternatives = condition { "OR" condition }
    condition   = ["NOT" | "-"] ( comparison | "(" expression ")" )
    comparison  = field ("=" | "!=" | "<" | "<=" | ">" | ">=" | ":") value

Artifact Registry also accepts a field alone, which tests its presence, and quotes with backticks.

OR binds more tightly than AND, unlike in most languages (AIP-160; Cloud Logging's documentation).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from vertex_emulator.kernel import times

_TOKEN = re.compile(
    r"""\s*(?:(?P<op><=|>=|!=|[=<>:])|(?P<paren>[()])|(?P<minus>-)(?=[A-Za-z(])|"""
    r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?P<word>[^\s()=<>!:"'`]+))"""
)

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_DEPTH = 50
_HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(actual: object, sign: str, wanted: object) -> bool:
    """Return whether a comparison by one of = != < <= > and >= holds."""
    return _HOLDS[sign](actual, wanted)


class FilterError(ValueError):
    """The filter cannot be parsed; the message has the reason."""


@dataclass(frozen=True)
class Comparison:
    """A comparison. `field` is a dotted path without quotes; `operator` is one of = != < <= > >= and `:`."""

    field: str
    operator: str
    value: str


@dataclass(frozen=True)
class Not:
    """The negation of an expression."""

    item: Expression


@dataclass(frozen=True)
class And:
    """The conjunction of expressions; without any, everything matches."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    """The disjunction of expressions."""

    items: tuple[Expression, ...]


Expression: TypeAlias = "Comparison | Not | And | Or"


def parse(text: str, *, presence: bool = False) -> Expression:
    """Parse a filter; an empty one is `And(())`, which matches everything. Raises `FilterError`.

    With `presence`, a field alone means `FIELD:*`.
    """
    return Parser(text, presence=presence).whole()


def matches(expression: Expression, test: Callable[[Comparison], bool]) -> bool:
    """Return whether the expression holds; `test` evaluates a comparison."""
    if isinstance(expression, Comparison):
        return test(expression)
    if isinstance(expression, Not):
        return not matches(expression.item, test)
    if isinstance(expression, And):
        return all(matches(item, test) for item in expression.items)
    return any(matches(item, test) for item in expression.items)


def required(expression: Expression, field: str) -> str | None:
    """Return the one value of `field` in everything that matches the expression, or None if it may vary."""
    if isinstance(expression, Comparison):
        return expression.value if expression.field == field and expression.operator == "=" else None
    if isinstance(expression, And):
        found = (required(item, field) for item in expression.items)
        return next((value for value in found if value is not None), None)
    return None


def lower_bound(expression: Expression, field: str) -> str:
    """Return a lower bound of `field` in everything that matches, or "" for none. Values compare as text."""
    if isinstance(expression, Comparison):
        bounds = expression.field == field and expression.operator in ("=", ">", ">=")
        return expression.value if bounds else ""
    if isinstance(expression, And):
        return max((lower_bound(item, field) for item in expression.items), default="")
    if isinstance(expression, Or):
        return min((lower_bound(item, field) for item in expression.items), default="")
    return ""


def mapped(expression: Expression, change: Callable[[Comparison], Comparison]) -> Expression:
    """Return the expression with every comparison replaced by `change` of it."""
    if isinstance(expression, Comparison):
        return change(expression)
    if isinstance(expression, Not):
        return Not(mapped(expression.item, change))
    items = tuple(mapped(item, change) for item in expression.items)
    return And(items) if isinstance(expression, And) else Or(items)


class Parser:
    """The parser of one filter. Larger languages are subclasses (`logging.query`)."""

    token: ClassVar[re.Pattern[str]] = _TOKEN

    def __init__(self, text: str, *, presence: bool = False) -> None:
        self._presence = presence
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = self.token.match(text, position)
            if match is None or match.lastgroup is None:
                raise FilterError(f"unexpected {text[position:].strip()[:20]!r}")
            self._tokens.append((match.lastgroup, match.group(match.lastgroup)))
            position = match.end()

    def whole(self) -> Expression:
        """Parse the whole text; an empty one matches everything. Raises `FilterError`."""
        if not self._tokens:
            return And(())
        expression = self.expression()
        self.expect_end()
        return expression

    def expression(self) -> Expression:
        items = [self._alternatives()]
        while self._take_word("AND") or self._begins_condition():
            items.append(self._alternatives())
        return items[0] if len(items) == 1 else And(tuple(items))

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise FilterError(f"unexpected {self._tokens[self._at][1]!r}")

    def _alternatives(self) -> Expression:
        items = [self._condition()]
        while self._take_word("OR"):
            items.append(self._condition())
        return items[0] if len(items) == 1 else Or(tuple(items))

    def _begins_condition(self) -> bool:
        kind, text = self._peek()
        return kind in ("word", "quoted", "minus") or text == "("

    def _condition(self) -> Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FilterError(f"it is nested more than {_MAX_DEPTH} deep")
        found = self._negated_or_not()
        self._depth -= 1
        return found

    def _negated_or_not(self) -> Expression:
        if self._peek()[0] == "minus":
            self._at += 1
            return Not(self._condition())
        if self._take_word("NOT"):
            return Not(self._condition())
        if self._peek() == ("paren", "("):
            self._at += 1
            inner = self.expression()
            if self._peek() != ("paren", ")"):
                raise FilterError("a parenthesis is not closed")
            self._at += 1
            return inner
        return self._comparison()

    def _comparison(self) -> Expression:
        field = self._path()
        kind, operator = self._peek()
        if kind != "op" and self._presence:
            return Comparison(field, ":", "*")
        if kind != "op":
            raise FilterError(f"{field!r} is not a comparison; write one, such as FIELD = VALUE")
        self._at += 1
        return Comparison(field, operator, self._value(field, operator))

    def _value(self, field: str, operator: str) -> str:
        kind, value = self._peek()
        if kind not in ("word", "quoted", "minus"):
            raise FilterError(f"a value is missing after {field} {operator}")
        self._at += 1
        if kind == "minus":
            value += self._next_word()
        while kind == "word" and self._peek() == ("op", ":"):  # a time without quotes
            self._at += 1
            value += ":" + self._next_word()
        return _unquoted(value) if kind == "quoted" else value

    def _path(self) -> str:
        kind, text = self._peek()
        if kind not in ("word", "quoted"):
            raise FilterError(
                f"a field's name is expected instead of {text!r}" if text else "it ends too early"
            )
        self._at += 1
        path = _unquoted(text) if kind == "quoted" else text
        while True:
            kind, text = self._peek()
            if kind == "quoted" and path.endswith("."):
                path += _unquoted(text)
            elif kind == "word" and text.startswith("."):
                path += text
            else:
                break
            self._at += 1
        return path

    def _next_word(self) -> str:
        kind, text = self._peek()
        if kind != "word":
            raise FilterError("a value is not complete")
        self._at += 1
        return text

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _take_word(self, word: str) -> bool:
        if self._peek() == ("word", word):
            self._at += 1
            return True
        return False


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def timestamp(value: str) -> str:
    """Return a time of a filter in the format of `times`. A date means its midnight in UTC.

    Raises `FilterError`.
    """
    try:
        return times.text(times.parse(f"{value}T00:00:00Z" if _DATE.fullmatch(value) else value))
    except ValueError:
        raise FilterError(f"{value!r} is not a time, such as 2026-01-31T12:00:00Z or 2026-01-31") from None
