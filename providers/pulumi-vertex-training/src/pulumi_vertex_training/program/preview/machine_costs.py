"""The line on the row of a new persistent resource, in a preview: the cost of its machines.

The provider prints an update's: the program does not know what the state has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.preview.prerequisites import is_engines_preview, values_of

if TYPE_CHECKING:
    from vertex_training.cost.cost import Cost
    from vertex_training.cost.prices import PriceTable


def announce_machines(
    resource: pulumi.CustomResource,
    name: str,
    inputs: Mapping[str, Any],
    cost_of: Callable[[Mapping[str, Any], PriceTable], Cost | None],
) -> None:
    """Print what the machines of a new resource cost."""
    if not is_engines_preview():
        return

    async def announce() -> None:
        if await resource.id.is_known():
            return
        try:
            values = await values_of(inputs)
        except Exception:
            return  # The engine reports why an output failed, and the preview fails for that.
        text = await asyncio.to_thread(_sentence, values, cost_of)
        if text:
            messages.info(f"{name} {text}", resource)

    _: pulumi.Output[None] = pulumi.Output.from_input(announce())


def _sentence(
    values: Mapping[str, Any], cost_of: Callable[[Mapping[str, Any], PriceTable], Cost | None]
) -> str:
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs import words

    cost, target = cost_of(values, current_prices()), target_of(values)
    if cost is None:
        return ""
    endpoint = target.endpoint if target is not None else ""
    return f"{words.verb(endpoint)}: {words.of_machines(cost)}"
