"""Functions whose arguments are known to editors and type checkers, and are checked at run time.

A constructor of a resource lists its arguments and takes no `**kwargs`, so that a type checker finds a
misspelt one. At run time a misspelt argument is found as well, and reported together with every other mistake
in the resource, without a traceback.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from typing import Any, TypeVar, cast

from pulumi_vertex_training.program.arguments import checks
from vertex_training.findings.words import nearest

Init = TypeVar("Init", bound=Callable[..., None])
Function = TypeVar("Function", bound=Callable[..., Any])

_KEPT = "_unknown_arguments"


def named_arguments(init: Init) -> Init:
    """Make a resource's constructor keep unknown arguments for `unknown_arguments`, instead of a TypeError.

    A constructor with `**kwargs` gets them instead. Raises `pulumi.RunError` for a missing argument, for one
    that is given without its name, and for a resource without a name.
    """
    parameters = inspect.signature(init).parameters
    known = [name for name, each in parameters.items() if each.kind is Parameter.KEYWORD_ONLY]
    taken = {*known, "resource_name"}
    required = [name for name in known if parameters[name].default is Parameter.empty]
    takes_more = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())

    @functools.wraps(init)
    def construct(self: object, *args: object, **given: object) -> None:
        unknown = {name: value for name, value in given.items() if name not in taken}
        missing = [name for name in required if name not in given]
        misspelt = [name for name in unknown if nearest(name, missing)] if takes_more else [*unknown]
        name = args[0] if args else given.get("resource_name")
        checks.require(
            name if isinstance(name, str) and name else type(self).__name__,
            [
                checks.resource_name(name),
                *(checks.unknown(misspelt, known) if missing else ()),
                *(f"{name} is missing" for name in missing),
                None if len(args) < 2 else f"give arguments by name, such as {known[0]}=...",
            ],
        )
        if takes_more:
            init(self, *args, **given)
            return
        vars(self)[_KEPT] = unknown
        init(self, *args, **{name: value for name, value in given.items() if name not in unknown})

    return cast(Init, construct)


def checked_call(function: Function) -> Function:
    """Make a function raise `pulumi.RunError` for unknown and missing arguments, instead of a TypeError."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: object, **given: object) -> Any:
        try:
            signature.bind(*args, **given)
        except TypeError as error:
            checks.require(function.__name__, [*_faults(signature, args, given)] or [str(error)])
        return function(*args, **given)

    return cast(Function, call)


def _faults(signature: inspect.Signature, args: tuple[Any, ...], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a call: unknown and missing arguments, and those that need their names."""
    parameters = signature.parameters
    positional = [name for name, each in parameters.items() if each.kind is not Parameter.KEYWORD_ONLY]
    yield from checks.unknown([name for name in given if name not in parameters], parameters)
    for name, each in parameters.items():
        if each.default is Parameter.empty and name not in {*positional[: len(args)], *given}:
            yield f"{name} is missing"
    by_name = [name for name in parameters if name not in positional]
    if len(args) > len(positional) and by_name:
        yield f"give arguments by name, such as {by_name[0]}=..."


def unknown_arguments(resource: object) -> Mapping[str, Any]:
    """Return the arguments of a resource that its constructor does not have; each one is to be rejected."""
    kept: Mapping[str, Any] = vars(resource).pop(_KEPT, {})
    return kept
