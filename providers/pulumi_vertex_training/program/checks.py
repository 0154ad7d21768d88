"""What is wrong with the arguments of a resource that no provider sees: all at once, each with its remedy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pulumi

from vertex_training.findings.words import nearest


def require(resource: str, findings: Iterable[str | None]) -> None:
    """Raise `pulumi.RunError` with every finding that there is, a line each."""
    found = [finding for finding in findings if finding]
    if found:
        raise pulumi.RunError("\n".join(f"{resource}: {finding}" for finding in found))


def one_of(name: str, value: object, allowed: Sequence[str]) -> str | None:
    if isinstance(value, str) and value in allowed:
        return None
    *most, last = [repr(one) for one in allowed]
    return f"{name} is {shown(value)}; it must be {', '.join(most)} or {last}"


def flag(name: str, value: object) -> str | None:
    return None if isinstance(value, bool) else f"{name} is {shown(value)}; it must be True or False"


def whole_number(name: str, value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return None
    return f"{name} is {shown(value)}; it must be a whole number, 0 or more"


def seconds(name: str, value: Any) -> str | None:
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
    places: Sequence[str] = (),
) -> list[str]:
    """A finding for each name that is no argument; those of `inner` stand in one of `places`."""

    def remedy(name: str) -> str:
        if places and name in inner:
            return f"it stands in {' or '.join(places)}"
        return nearest(name, known) or f"the arguments are {', '.join(sorted(known))}"

    return [f"{name}: there is no such argument; {remedy(name)}" for name in names]


def not_none(resource: str, name: str, value: Any, *, remedy: str) -> Any:
    """An input whose output raises `pulumi.RunError` where it turns out to be None."""

    def known(found: Any) -> Any:
        require(resource, [f"{name} is None; {remedy}" if found is None else None])
        return found

    return value.apply(known) if isinstance(value, pulumi.Output) else value


def shown(value: object) -> str:
    return "an Output, which is known too late" if isinstance(value, pulumi.Output) else repr(value)
