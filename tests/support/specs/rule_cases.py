"""A case of a rule: a document that keeps it, and the change that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RuleCase:
    """`right` keeps the rule, and has no error at all; with the changes of `wrong` it breaks the rule at
    `path`, in a message with these words: the value that is wrong and what to do. `find` returns the findings
    about a document."""

    right: Mapping[str, Any]
    wrong: Mapping[str, object]
    path: str
    words: tuple[str, ...]
    level: str = "error"
    find: Callable[[Mapping[str, Any]], Iterable[Any]] | None = None


def case(
    right: Mapping[str, Any], wrong: Mapping[str, object], path: str, *words: str, **other: Any
) -> RuleCase:
    return RuleCase(right=right, wrong=wrong, path=path, words=words, **other)


def warning(
    right: Mapping[str, Any], wrong: Mapping[str, object], path: str, *words: str, **other: Any
) -> RuleCase:
    return case(right, wrong, path, *words, level="warning", **other)
