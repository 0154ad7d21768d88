"""A finding about a declaration: the path, what is wrong, and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One finding.

    `path` is the API's, in snake case (`worker_pool_specs[1].machine_spec.machine_type`); "" is the whole
    declaration. `message` is one or two plain sentences: value, rule, remedy. A warning is for a declaration
    that Google accepts and the user will regret.

    `rests_on` names the paths whose values the finding was derived from, if these are not simply everything
    at, above and below `path`. A path that ends with ".*" includes all below it, see `known`. `rule` is the
    name of the broken `rules.Rule`, or "" for a value that could not be read.
    """

    path: str
    message: str
    level: Level = "error"
    rests_on: tuple[str, ...] = field(default=(), compare=False, repr=False)
    rule: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def is_within(path: str, ancestor: str) -> bool:
    """Return whether `path` is `ancestor` or lies below it; every path lies within ""."""
    if not ancestor or path == ancestor:
        return True
    return path.startswith(ancestor) and path[len(ancestor)] in ".["


def known(problems: Iterable[Problem], unknown: Collection[str]) -> tuple[Problem, ...]:
    """Return the findings that do not depend on a value that is not known yet.

    `unknown` holds the paths of such values. A finding with `rests_on` is dropped if one of those paths is
    unknown itself, or lies within an unknown one, or, if it ends with ".*", has an unknown one below it. A
    finding without `rests_on` is dropped if an unknown path is at, above or below its own.
    """
    gaps = frozenset(unknown)
    above_gaps = {path for gap in gaps for path in _upwards(gap)}

    def rests_on_unknown(problem: Problem) -> bool:
        bases = problem.rests_on or (f"{problem.path}.*",)
        return any(_is_open(base, gaps, above_gaps) for base in bases)

    return tuple(problem for problem in problems if not rests_on_unknown(problem))


def _is_open(base: str, gaps: Collection[str], above_gaps: Collection[str]) -> bool:
    path = base.removesuffix(".*")
    if path != base and path in above_gaps:
        return True
    return any(each in gaps for each in _upwards(path))


def _upwards(path: str) -> Iterator[str]:
    """Yield the path and everything that it lies within: `a[0].b`, `a[0]`, `a`, ""."""
    yield path
    for end in range(len(path) - 1, 0, -1):
        if path[end] in ".[":
            yield path[:end]
    if path:
        yield ""


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the findings that reject a declaration."""
    return tuple(problem for problem in problems if problem.level == "error")


def warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the findings that do not reject a declaration."""
    return tuple(problem for problem in problems if problem.level == "warning")
