"""Report inputs that have a secret to `plan` and `preflight`, from whose preview the engine hides them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from pulumi_vertex_training.costs import reports
from pulumi_vertex_training.program.preview.prerequisites import is_engines_preview, without_secrets


def report_inputs(resource: pulumi.CustomResource, inputs: Mapping[str, Any]) -> None:
    """Report the inputs of a resource without their secrets, if there are any."""
    if not reports.is_wanted() or not is_engines_preview():
        return

    async def report() -> None:
        try:
            values, has_secret = await without_secrets(inputs)
            urn = await resource.urn.future() if has_secret else None
        except Exception:
            return  # The engine reports why an output failed, and the preview fails for that.
        if urn:
            reports.add(urn, "newState", values)

    _: pulumi.Output[None] = pulumi.Output.from_input(report())
