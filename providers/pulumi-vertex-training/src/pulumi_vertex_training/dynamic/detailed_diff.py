"""Detailed diffs in Pulumi's host of dynamic providers, which hands over no more than the names that replace.

The engine shows them in `pulumi preview --diff` and `--json`. The host's method that answers a diff is in a
closure of its wrapper, and is replaced there by one that adds to its answer. This is private to Pulumi, so
nothing rests on it but what is shown, and the option `replace_on_changes`, which names such properties.
`test_detailed_diff.py` fails if a later host is made otherwise; its answers then stay as they are.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.core.call import PropertyChange
from pulumi_vertex_training.core.property_changes import text_of
from pulumi_vertex_training.dynamic.cancellation import SERVICER

_FOUND: contextvars.ContextVar[Sequence[PropertyChange]] = contextvars.ContextVar("found", default=())
"""The changes that the provider found in the call of this thread."""


def hand_over(properties: Sequence[PropertyChange]) -> None:
    """Note the changes that a provider has found, for the host's answer."""
    _FOUND.set(properties)


def take_over() -> bool:
    """Make the host's answers have the changes. Return whether its method can be replaced."""
    wrapper = getattr(getattr(sys.modules.get("__main__"), SERVICER, None), "Diff", None)
    inside = getattr(getattr(wrapper, "__code__", None), "co_freevars", ())
    if wrapper is None or inside != ("fn",):
        return False
    (cell,) = wrapper.__closure__
    cell.cell_contents = _with_changes(cell.cell_contents)
    return True


def _with_changes(method: Callable[..., Any]) -> Callable[..., Any]:
    def diff(*arguments: object) -> Any:
        _FOUND.set(())
        answer = method(*arguments)
        # Without a change of a property the engine compares the inputs itself.
        if (found := _FOUND.get()) and isinstance(answer, provider_pb2.DiffResponse):
            answer.hasDetailedDiff = True
            for change in sorted(found, key=lambda change: change.replaces):
                kind = f"{change.kind}_replace" if change.replaces else change.kind
                answer.detailedDiff[text_of(change.path)].kind = provider_pb2.PropertyDiff.Kind.Value(
                    kind.upper()
                )
        return answer

    return diff
