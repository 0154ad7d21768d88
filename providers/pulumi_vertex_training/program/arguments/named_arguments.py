"""Constructors of resources whose arguments are known to editors and type checkers.

A constructor lists its arguments and takes no `**kwargs`, so that a type checker finds a misspelt one. At run
time a misspelt argument is found as well, and reported together with every other mistake in the resource.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pulumi_vertex_training.program.arguments import checks

Init = TypeVar("Init", bound=Callable[..., None])

_KEPT = "_unknown_arguments"


def named_arguments(init: Init) -> Init:
    """Make a resource's constructor keep unknown arguments for `unknown_arguments`, instead of a TypeError.

    Raises `pulumi.RunError` for a missing argument, or for one that is given without its name.
    """
    parameters = inspect.signature(init).parameters.values()
    known = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    required = [
        each.name
        for each in parameters
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is inspect.Parameter.empty
    ]

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **given: Any) -> None:
        unknown = {name: value for name, value in given.items() if name not in {*known, "resource_name"}}
        missing = [name for name in required if name not in given]
        label = str((args or [given.get("resource_name", type(self).__name__)])[0])
        checks.require(
            label,
            [
                *(checks.unknown(unknown, known) if missing else ()),
                *(f"{name} is missing" for name in missing),
                None if len(args) < 2 else f"give arguments by name, such as {known[0]}=...",
            ],
        )
        vars(self)[_KEPT] = unknown
        init(self, *args, **{name: value for name, value in given.items() if name not in unknown})

    return cast(Init, construct)


def unknown_arguments(resource: object) -> Mapping[str, Any]:
    """Return the arguments of a resource that its constructor does not have; each one is to be rejected."""
    kept: Mapping[str, Any] = vars(resource).pop(_KEPT, {})
    return kept
