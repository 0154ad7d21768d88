"""The expressions of Workflows, `${...}`, and the functions of the standard library that the emulator has.

The syntax of an expression is a subset of Python's (Workflows documentation, "Expressions"), so Python's
parser reads it. Nothing of it is executed as Python.

Anybody with a token can run a workflow, and it runs in the emulator's process. So patterns are those of RE2,
as in Workflows, numbers have 64 bits, and values have the limit of a variable.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from vertex_emulator.rpc.patterns import compiled

MOST_MEMORY = 512 << 10
"""Bytes of all variables of an execution, as JSON (Workflows documentation, "Quotas and limits")."""

MOST_EXPRESSION = 400
"""Characters of an expression (the same page)."""

_EXPRESSION = re.compile(r"\$\{(.*)\}", re.DOTALL)
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False}


def _of_numbers(calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator that takes numbers alone: in Python, `*` and `%` also make texts, of any size."""

    def apply(left: Any, right: Any) -> Any:
        for value in (left, right):
            if not isinstance(value, (int, float)):
                raise TypeError(f"expected a number, not {value!r:.100}")
        found = calculate(left, right)
        if isinstance(found, int) and not -(1 << 63) <= found < 1 << 63:
            raise OverflowError("the number has more than 64 bits")
        return found

    return apply


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, (int, float)):
        return _of_numbers(operator.add)(left, right)
    return _bounded(left + right)


def _bounded(value: Any) -> Any:
    if len(value) > MOST_MEMORY:
        raise OverflowError(f"the value has more than {MOST_MEMORY >> 10} KiB")
    return value


def _replace_all(source: str, old: str, new: str) -> str:
    if len(source) + source.count(old) * (len(new) - len(old)) > MOST_MEMORY:
        raise OverflowError(f"the text has more than {MOST_MEMORY >> 10} KiB")
    return source.replace(old, new)


_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: _sum,
    ast.Sub: _of_numbers(operator.sub),
    ast.Mult: _of_numbers(operator.mul),
    ast.Div: _of_numbers(operator.truediv),
    ast.FloorDiv: _of_numbers(operator.floordiv),
    ast.Mod: _of_numbers(operator.mod),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


class ExpressionError(Exception):
    """An expression that cannot be read or evaluated; the message says why."""


Functions = Mapping[str, Callable[..., Any]]


def functions(*, now: Callable[[], float], environment: Mapping[str, str]) -> Functions:
    """Return the functions of expressions by name. `now` returns the seconds since 1970."""
    return {
        "default": lambda value, other: other if value is None else value,
        "keys": lambda value: list(value),
        "len": len,
        "int": int,
        "string": lambda value: value if isinstance(value, str) else json.dumps(value),
        "map.get": _map_get,
        "map.merge": lambda first, second: {**first, **second},
        "text.match_regex": lambda source, regex: compiled(regex)(source),
        "text.replace_all": _replace_all,
        "text.substring": lambda source, start, end: source[start:end],
        "json.encode_to_string": lambda value: json.dumps(value, separators=(",", ":")),
        "sys.get_env": lambda name: environment[name],
        "sys.now": now,
        "time.format": lambda seconds: (
            datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")[:26] + "Z"
        ),
    }


def evaluate(value: Any, variables: Mapping[str, Any], known: Functions) -> Any:
    """Return a value of a definition with every expression in it evaluated. Raises `ExpressionError`."""
    if isinstance(value, str):
        match = _EXPRESSION.fullmatch(value.strip())
        return value if match is None else _Evaluation(variables, known).of(_parsed(match[1]))
    if isinstance(value, Mapping):
        return {name: evaluate(item, variables, known) for name, item in value.items()}
    if isinstance(value, list):
        return [evaluate(item, variables, known) for item in value]
    return value


def check(value: Any) -> None:
    """Check that all expressions in a value can be read. Raises `ExpressionError`."""
    if isinstance(value, str):
        match = _EXPRESSION.fullmatch(value.strip())
        for node in ast.walk(_parsed(match[1])) if match else ():
            if isinstance(node, ast.Call) and _name_of(node.func) not in NAMES:
                raise ExpressionError(
                    f"the emulator has no function {_name_of(node.func)}; it has {', '.join(sorted(NAMES))}"
                )
    elif isinstance(value, Mapping):
        for item in value.values():
            check(item)
    elif isinstance(value, list):
        for item in value:
            check(item)


def _parsed(text: str) -> ast.expr:
    if len(text) > MOST_EXPRESSION:
        raise ExpressionError(
            f"the expression {text[:50]!r}... has {len(text)} characters; the most is {MOST_EXPRESSION}"
        )
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"the expression {text!r} cannot be read: {error}") from None


class _Evaluation:
    """The evaluation of one expression."""

    def __init__(self, variables: Mapping[str, Any], known: Functions) -> None:
        self._variables = variables
        self._known = known

    def of(self, node: ast.expr) -> Any:
        try:
            return self._of(node)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, OSError) as error:
            raise ExpressionError(f"TypeError: {error} in {ast.unparse(node)}") from None

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name in self._variables:
                    return self._variables[name]
                if name in _CONSTANTS:
                    return _CONSTANTS[name]
                raise ExpressionError(f"symbol not found: {name}")
            case ast.Attribute(value=inner, attr=name):
                return self._item(self._of(inner), name, node)
            case ast.Subscript(value=inner, slice=index):
                return self._item(self._of(inner), self._of(index), node)
            case ast.List(elts=items):
                return [self._of(item) for item in items]
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return not self._of(inner)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._of(inner)
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._of(value) for value in values)
            case ast.BoolOp(values=values):
                return any(self._of(value) for value in values)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._of(left), self._of(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._of(left), self._of(right))
            case ast.Call(func=func, args=args, keywords=[]):
                return self._known[_name_of(func)](*(self._of(arg) for arg in args))
            case _:
                raise ExpressionError(f"the emulator does not support {ast.unparse(node)!r} in expressions")

    def _item(self, value: Any, key: Any, node: ast.expr) -> Any:
        try:
            return value[key]
        except (KeyError, IndexError):
            raise ExpressionError(f"KeyError: key not found: {key} in {ast.unparse(node)}") from None


def _name_of(node: ast.expr) -> str:
    return ast.unparse(node)


def _map_get(value: Any, key: str | Sequence[str]) -> Any:
    """Return the value of a key, or of a path of keys; None without it."""
    for one in [key] if isinstance(key, str) else key:
        if not isinstance(value, Mapping) or one not in value:
            return None
        value = value[one]
    return value


NAMES = frozenset(functions(now=lambda: 0.0, environment={}))
"""Names of all functions."""
