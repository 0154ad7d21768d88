"""Compare what a program gives to resources of pulumi_gcp with the types of the installed package.

The constructors check the names of arguments; nothing checks the names in nested dictionaries, nor any type.
"""

from __future__ import annotations

import importlib
import inspect
import typing
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi import _types

SECRET_KEY, SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""The key, and its value, of an object that represents a secret in what a program sends to the engine."""


def resource_class(token: str) -> type[Any]:
    """Return the class of a token such as `gcp:projects/service:Service`."""
    package, module, name = token.split(":")
    assert package == "gcp", token
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of classes that nobody uses here
        found: type[Any] = getattr(importlib.import_module(f"pulumi_gcp.{module.split('/')[0]}"), name)
    return found


def arguments_class(token: str) -> type[Any]:
    """Return the class of the arguments of a resource."""
    cls = resource_class(token)
    return getattr(importlib.import_module(cls.__module__), f"{cls.__name__}Args")


def faults(token: str, inputs: Mapping[str, Any]) -> list[str]:
    """Return what the declared type of a resource does not allow in its inputs, each with its path."""
    return [*_of_class(arguments_class(token), inputs, "")]


def _of_class(cls: type[Any], value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path} is {value!r}, not a {cls.__name__}"
        return
    names = _types.input_type_py_to_pulumi_names(cls)
    hints = _types.input_type_types(cls)
    parameters = inspect.signature(cls.__init__).parameters
    known = {names.get(name, name): name for name in names}
    for key in value:
        if key not in known:
            yield f"{path}{key}: {cls.__name__} has no such argument"
    for key, name in known.items():
        if key in value:
            yield from _of_type(hints[key], value[key], f"{path}{key}")
        elif name in parameters and parameters[name].default is inspect.Parameter.empty:
            yield f"{path}{key} is missing"


def _of_type(hint: Any, value: Any, path: str) -> Iterator[str]:
    hint = _types.unwrap_type(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(value, Mapping) and value.get(SECRET_KEY) == SECRET:
        value = value["value"]
    if value is None or hint is Any:
        return
    if _types.is_input_type(hint):
        yield from _of_class(hint, value, f"{path}.")
    elif origin in (list, tuple) or (origin is not None and origin.__name__ == "Sequence"):
        if not isinstance(value, list):
            yield f"{path} is {value!r}, not a list"
            return
        for position, item in enumerate(value):
            yield from _of_type(arguments[0], item, f"{path}[{position}]")
    elif origin is not None and origin.__name__ in ("Mapping", "dict"):
        if not isinstance(value, Mapping):
            yield f"{path} is {value!r}, not a mapping"
            return
        for key, item in value.items():
            yield from _of_type(arguments[1], item, f"{path}.{key}")
    elif not _is_a(value, hint):
        yield f"{path} is {value!r}, not a {getattr(hint, '__name__', hint)}"


def _is_a(value: Any, hint: Any) -> bool:
    """Return whether a value has a type; the engine turns every number into a float."""
    if hint is int:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and value == int(value)
    if hint is float:
        return not isinstance(value, bool) and isinstance(value, (int, float))
    assert hint in (str, bool), f"{hint}: this check does not know the type"
    return isinstance(value, hint)
