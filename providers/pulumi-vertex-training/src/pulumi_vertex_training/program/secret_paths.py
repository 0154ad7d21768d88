"""Where the secrets are among a resource's inputs, which the engine does not tell a dynamic provider."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pulumi
from pulumi import _types

from pulumi_vertex_training.core import secret_masking


def secret_paths(
    value: Mapping[str, Any], note: Callable[[object], None]
) -> pulumi.Output[list[str] | None] | None:
    """Return the paths of the secrets among a resource's inputs, as far as known; None without any.

    `note` is called with the value of each secret, before the output is known.
    """
    if not any(map(_may_be_secret, value.values())):
        return None
    found: pulumi.Output[list[str] | None] = pulumi.Output.from_input(_found(value, note))
    return found


async def _found(value: object, note: Callable[[object], None]) -> list[str] | None:
    # The engine reports why an output failed when the resource is registered.
    with contextlib.suppress(Exception):
        return [path async for path in _walk(value, "", note)] or None
    return None


async def _walk(value: object, path: str, note: Callable[[object], None]) -> Any:
    if isinstance(value, pulumi.Output):
        if await value.is_secret():
            note(await value.future(with_unknowns=True))
            yield path
        return
    for name, item in _items(value, path):
        async for each in _walk(item, name, note):
            yield each


def _items(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values directly below a value, with their paths."""
    if _types.is_input_type(type(value)):
        value = _types.input_type_to_dict(value)
    yield from secret_masking.items(value, path)


def _may_be_secret(value: object) -> bool:
    return isinstance(value, pulumi.Output) or any(_may_be_secret(item) for _, item in _items(value, ""))
