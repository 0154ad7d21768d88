"""The key of a resource, by which what a killed deployment created is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pulumi_vertex_training import registry

STACK_KEY_FUNCTION = f"{registry.PACKAGE}:index:stackKey"
"""The plugin's function by which a program in Python learns the key; the schema does not have it."""
STACK_KEY_RESULT = "stackKey"
_DIGITS = 8


def resource_key(stack: str, ancestors: Sequence[str], kind: str, name: str) -> str:
    """Return the stack's key with a hash of the resource's name and kind and of its ancestors' types."""
    names = "\0".join([*ancestors, kind, name])
    return f"{stack}-{hashlib.sha256(names.encode()).hexdigest()[:_DIGITS]}"
