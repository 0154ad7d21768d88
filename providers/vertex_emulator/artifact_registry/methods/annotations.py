"""Annotations that a client sets on packages and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.rpc.methods import RpcError

_MAX_BYTES = 256 * 1024
"""Of all keys and values together (AIP-128)."""


def given_annotations(message: Any, mask: Sequence[str]) -> Mapping[str, str] | None:
    """Those that an update sets; None where its mask names only what the service fills in.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    fields = message.DESCRIPTOR.fields_by_name
    if unknown := [path for path in mask if path != "*" and path.partition(".")[0] not in fields]:
        raise RpcError("INVALID_ARGUMENT", f"update_mask names {unknown[0]!r}, which there is not.")
    if mask and not {"annotations", "*"} & {path.partition(".")[0] for path in mask}:
        return None
    if below := [path for path in mask if path.startswith("annotations.")]:
        raise RpcError("INVALID_ARGUMENT", f"update_mask has {below[0]!r}. Annotations are set as a whole.")
    found = dict(message.annotations)
    if sum(len(key.encode()) + len(value.encode()) for key, value in found.items()) > _MAX_BYTES:
        raise RpcError("INVALID_ARGUMENT", f"The annotations are longer than {_MAX_BYTES} bytes together.")
    return found
