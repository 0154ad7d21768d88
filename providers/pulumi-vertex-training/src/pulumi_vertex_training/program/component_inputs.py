"""The inputs of a component that the plugin constructs, as its class takes them in a program.

Lists and objects stay as they are, because a component looks into them. A value in them is an output if it is
secret, not known yet, or depends on a resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pulumi
from pulumi.resource import DependencyResource

from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN, OUTPUT, SECRET, SIGNATURE


def read(inputs: Any, dependencies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs. `dependencies` are each input's, by its name."""
    return {
        name: _value(value, _urns(dependencies, name, value), is_secret=False)
        for name, value in inputs.fields.items()
        if value.WhichOneof("kind") != "null_value"
    }


def _urns(dependencies: Mapping[str, Any], name: str, value: object) -> frozenset[str]:
    """Return the resources that each value of an input depends on; outputs in it have their own."""
    return frozenset(dependencies[name].urns if name in dependencies and not _has_outputs(value) else ())


def _has_outputs(value: Any) -> bool:
    fields = value.struct_value.fields
    items = [*fields.values(), *value.list_value.values]
    return _signature(fields) == OUTPUT or any(map(_has_outputs, items))


def _signature(fields: Mapping[str, Any]) -> str:
    return fields[SIGNATURE].string_value if SIGNATURE in fields else ""


def _value(value: Any, urns: Collection[str], *, is_secret: bool) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [_value(item, urns, is_secret=is_secret) for item in value.list_value.values]
    if kind == "struct_value":
        fields = value.struct_value.fields
        signature = _signature(fields)
        if signature == SECRET:
            return _value(fields["value"], urns, is_secret=True)
        if signature == OUTPUT:
            found = [each.string_value for each in fields["dependencies"].list_value.values]
            is_secret = is_secret or fields["secret"].bool_value
            if "value" not in fields:
                return _output(None, {*urns, *found}, is_known=False, is_secret=is_secret)
            return _value(fields["value"], {*urns, *found}, is_secret=is_secret)
        return {name: _value(item, urns, is_secret=is_secret) for name, item in fields.items()}
    plain = _plain(value)
    is_known = plain != ENGINES_UNKNOWN
    return (
        plain
        if is_known and not urns and not is_secret
        else _output(plain, urns, is_known=is_known, is_secret=is_secret)
    )


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return getattr(value, kind) if kind in ("string_value", "bool_value") else None


def _output(value: object, urns: Collection[str], *, is_known: bool, is_secret: bool) -> pulumi.Output[Any]:
    resources: set[pulumi.Resource] = {DependencyResource(urn) for urn in urns}
    return pulumi.Output(
        resources,
        _resolved(value if is_known else None),
        is_known=_resolved(is_known),
        is_secret=_resolved(is_secret),
    )


def _resolved(value: object) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future
