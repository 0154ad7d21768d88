"""Names of properties: camelCase on the wire, as in the schema, and snake_case in the core.

They are converted by the class of the inputs, so the keys of a map such as `labels` stay as the user wrote
them. Names that begin with two underscores are internal, and stay too.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pulumi_vertex_training.engine_values import SECRET, SIGNATURE
from vertex_training.fields.schema import camel_case, field_types, snake_case, without_none

_HIDDEN = "__"
_PARTS = re.compile(r'\.?[A-Za-z0-9_-]+|\[\d+\]|\["[^"]*"\]')


class EncryptedError(ValueError):
    """A secret in an exported state is encrypted, and has names in it."""


def inward(props: Mapping[str, Any], inputs: type) -> dict[str, Any]:
    """Return properties with the core's names."""
    found: dict[str, Any] = _converted(props, inputs, outward=False)
    return found


def outward(props: Mapping[str, Any], inputs: type) -> dict[str, Any]:
    """Return properties with the names of the wire: the reverse of `inward`."""
    found: dict[str, Any] = _converted(props, inputs, outward=True)
    return found


def path_outward(path: Sequence[str | int], inputs: type) -> tuple[str | int, ...]:
    """Return a path to a property with the names of the wire: ("workerPoolSpecs", 1, "replicaCount")."""
    return tuple(_converted_path(path, inputs, outward=True))


def _converted_path(path: Sequence[str | int], inputs: type, *, outward: bool) -> Iterator[str | int]:
    hint: Any = inputs
    for part in path:
        if isinstance(part, int):
            hint = _argument(hint, 0)
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            name = snake_case(part)
            hint, part = _hints(hint).get(name), wire_name(name) if outward else name
        else:
            hint = _argument(hint, 1)
        yield part


def text_outward(path: str, inputs: type) -> str:
    """Return the path of a finding as a program writes it: `workerPoolSpecs[1].replicaCount`."""
    return _converted_text(path, inputs, outward=True)


def text_inward(path: str, inputs: type) -> str:
    """Return the path of a property of the wire with the core's names: the reverse of `text_outward`."""
    return _converted_text(path, inputs, outward=False)


def _converted_text(path: str, inputs: type, *, outward: bool) -> str:
    parts = _PARTS.findall(path)
    if "".join(parts) != path:
        return path
    keys = [int(part[1:-1]) if part[1:-1].isdigit() else part.strip('.[]"') for part in parts]
    shown = zip(parts, _converted_path(keys, inputs, outward=outward), strict=True)
    return "".join(part.replace(str(key), str(new)) for (part, new), key in zip(shown, keys, strict=True))


def wire_name(name: str) -> str:
    """Return the name of a property on the wire."""
    return name if name.startswith(_HIDDEN) else camel_case(name)


def _converted(value: object, hint: object, *, outward: bool) -> Any:
    if isinstance(value, (list, tuple)):
        inner = _argument(hint, 0)
        return [_converted(item, inner, outward=outward) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get(SIGNATURE) == SECRET:
        return _in_secret(value, hint, outward=outward)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _of_class(value, hint, outward=outward)
    inner = _argument(hint, 1)
    return {key: _converted(item, inner, outward=outward) for key, item in value.items()}


def _in_secret(value: Mapping[str, Any], hint: object, *, outward: bool) -> dict[str, Any]:
    """Return a secret of an exported state. Raises EncryptedError if names in it are not known."""
    if (text := value.get("plaintext")) is not None:
        converted = _converted(json.loads(text), hint, outward=outward)
        return {**value, "plaintext": json.dumps(converted)}
    if _has_names(hint):
        raise EncryptedError
    return dict(value)


def _has_names(hint: object) -> bool:
    """Return whether values of a type have properties, whose names are converted."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return True
    return any(_has_names(without_none(each)) for each in get_args(hint))


def _of_class(value: Mapping[str, Any], cls: type, *, outward: bool) -> dict[str, Any]:
    hints, found = _hints(cls), {}
    for key, item in value.items():
        if key.startswith(_HIDDEN):
            found[key] = item
            continue
        name = snake_case(key)
        converted = _converted(item, hints.get(name), outward=outward)
        found[camel_case(name) if outward else name] = converted
    return found


@functools.cache
def _hints(cls: type) -> Mapping[str, Any]:
    return {name: without_none(hint) for name, hint in field_types(cls).items()}


def _argument(hint: object, position: int) -> Any:
    """Return the type of the items of a list (position 0), or of the values of a map (1)."""
    arguments = get_args(hint)
    if get_origin(hint) is None or position >= len(arguments):
        return None
    return without_none(arguments[position])
