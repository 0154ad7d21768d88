"""Properties on the wire of the engine: plain values, secrets, and values that are not known yet.

The engine wraps a secret in an object with a signature. The core gets plain values and the paths of the
secrets, and what goes back is wrapped again at these paths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import struct_pb2

from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN, SECRET, SIGNATURE
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.schema import child


@dataclass(frozen=True, kw_only=True)
class Properties:
    """Plain values, with the paths of the secrets among them."""

    values: dict[str, Any] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()


def read(struct: struct_pb2.Struct) -> Properties:
    """Return the properties of a request."""
    secrets: set[str] = set()
    values = {name: _plain(value, name, secrets) for name, value in struct.fields.items()}
    return Properties(values=values, secrets=frozenset(secrets))


def _plain(value: struct_pb2.Value, path: str, secrets: set[str]) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == ENGINES_UNKNOWN else value.string_value
    if kind == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE in fields and fields[SIGNATURE].string_value == SECRET:
            secrets.add(path)
            return _plain(fields["value"], path, secrets)
        return {name: _plain(item, child(path, name), secrets) for name, item in fields.items()}
    if kind == "list_value":
        items = enumerate(value.list_value.values)
        return [_plain(item, f"{path}[{position}]", secrets) for position, item in items]
    if kind == "number_value":
        return value.number_value
    return value.bool_value if kind == "bool_value" else None


def write(values: Mapping[str, Any], secrets: Collection[str] = ()) -> struct_pb2.Struct:
    """Return properties for the engine, without those that are None, with the secrets wrapped.

    A property is a secret as a whole if the path of a secret in it does not exist any more.
    """
    present = {path for name, value in values.items() for path in _paths(value, name)} if secrets else set()
    wrapped = {path if path in present else path.partition(".")[0].partition("[")[0] for path in secrets}
    return struct_pb2.Struct(
        fields={name: _wire(value, name, wrapped) for name, value in values.items() if value is not None}
    )


def _paths(value: object, path: str) -> Iterator[str]:
    yield path
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _paths(item, child(path, str(name)))
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _paths(item, f"{path}[{position}]")


def _wire(value: object, path: str, secrets: Collection[str]) -> struct_pb2.Value:
    if path in secrets:
        inner = _wire(value, path, frozenset(secrets) - {path})
        signature = struct_pb2.Value(string_value=SECRET)
        fields = {SIGNATURE: signature, "value": inner}
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    if value is UNKNOWN:
        return struct_pb2.Value(string_value=ENGINES_UNKNOWN)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, Mapping):
        fields = {
            str(name): _wire(item, child(path, str(name)) if secrets else "", secrets)
            for name, item in value.items()
            if item is not None
        }
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    if isinstance(value, (list, tuple)):
        items = [
            _wire(item, f"{path}[{position}]" if secrets else "", secrets)
            for position, item in enumerate(value)
        ]
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
    return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
