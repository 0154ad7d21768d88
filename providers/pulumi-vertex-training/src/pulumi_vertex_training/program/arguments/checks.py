"""Check the arguments of a resource that its provider does not see. All findings are reported at once."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import pulumi
from pulumi import _types

from vertex_training.fields.decode import Decoded
from vertex_training.fields.values import UNKNOWN
from vertex_training.findings.words import nearest

T = TypeVar("T")


def require(resource: str, findings: Iterable[str | None]) -> None:
    """Raise `pulumi.RunError` with all findings, one a line, unless all of them are empty."""
    found = [finding for finding in findings if finding]
    if found:
        raise pulumi.RunError("\n".join(f"{resource}: {finding}" for finding in found))


def resource_name(name: object) -> str | None:
    """Return a finding unless the name of a resource is a text that is not empty."""
    if isinstance(name, str) and name:
        return None
    given = "is missing" if name is None else "is empty" if name == "" else f"is {shown(name)}"
    return f'the name of the resource {given}; give it first, such as "train"'


def one_of(name: str, value: object, allowed: Sequence[str]) -> str | None:
    """Return a finding unless the value is one of the allowed ones."""
    if isinstance(value, str) and value in allowed:
        return None
    *most, last = [repr(one) for one in allowed]
    return f"{name} is {shown(value)}; it must be {', '.join(most)} or {last}"


def flag(name: str, value: object) -> str | None:
    """Return a finding unless the value is a bool."""
    return None if isinstance(value, bool) else f"{name} is {shown(value)}; it must be True or False"


def whole_number(name: str, value: object) -> str | None:
    """Return a finding unless the value is an int of 0 or more."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return None
    return f"{name} is {shown(value)}; it must be a whole number, 0 or more"


def amount(name: str, value: object) -> str | None:
    """Return a finding unless the value is an amount of US dollars above 0."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return None
    return f"{name} is {shown(value)}; it must be US dollars above 0, such as 50"


def seconds(name: str, value: object) -> str | None:
    """Return a finding unless the value is a number of 0 or more."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return None
    return (
        f"{name} is {shown(value)}; it must be a number of seconds from 0, such as 3600, or "
        'float("inf") to wait without a limit'
    )


def unknown(
    names: Iterable[str],
    known: Collection[str],
    *,
    inner: Collection[str] = (),
    parents: Sequence[str] = (),
) -> list[str]:
    """Return a finding for each unknown argument. Those in `inner` belong into one of `parents`."""

    def remedy(name: str) -> str:
        if parents and name in inner:
            return f"it belongs in {' or '.join(parents)}"
        return nearest(name, known) or f"the arguments are {', '.join(sorted(known))}"

    return [f"{name}: unknown argument; {remedy(name)}" for name in names]


def problems_in(
    declaration: Mapping[str, object], decode: Callable[[dict[str, Any]], Decoded[Any]]
) -> list[str]:
    """Return the errors that a provider's check would find in a declaration, as far as it is known."""
    given = {name: plain(value) for name, value in declaration.items()}
    found = decode({**given, "marks": {}}).problems
    return [str(problem) for problem in found if problem.level == "error"]


def plain(value: object) -> Any:
    """Return a value as a provider gets it, with UNKNOWN for each output."""
    if isinstance(value, (pulumi.Output, pulumi.Resource, Awaitable)):
        return UNKNOWN
    if _types.is_input_type(type(value)):
        value = _types.input_type_to_dict(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def not_none(resource: str, name: str, value: T, *, remedy: str) -> T:
    """Return an input that raises `pulumi.RunError` if its value turns out to be None."""

    def known(found: object) -> object:
        require(resource, [f"{name} is None; {remedy}" if found is None else None])
        return found

    return cast(T, value.apply(known)) if isinstance(value, pulumi.Output) else value


def shown(value: object) -> str:
    """Return a value in words of a finding."""
    return (
        "an Output, whose value is not known while the program runs"
        if isinstance(value, pulumi.Output)
        else repr(value)
    )
