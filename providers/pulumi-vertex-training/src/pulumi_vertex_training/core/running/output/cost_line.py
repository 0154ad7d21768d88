"""The line on the row of a job, in a preview, with the cost of the run that a deployment would start.

Machines that are resized have such a line, too. What stays as it is has none, so nothing is imported and no
price is looked up for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.costs import reports
from vertex_training.fields.decode import Decoded


def announce_cost(
    declared: JobResourceType,
    call: Call,
    inputs: JobInputs,
    unknown: frozenset[str],
    *,
    old: Mapping[str, Any],
    checked: Mapping[str, Any],
) -> None:
    """Print the cost of a new run in a preview, by the checked inputs and the state's (empty without).

    A job that is adopted has no new run. Report the old inputs to the command that runs the preview.
    """
    if call.is_preview and call.urn and reports.is_wanted():
        reports.add(call.urn, "oldState", reports.public(old))
    is_same = all(old.get(name) == checked.get(name) for name in ("run_token", "spec_hash"))
    if not call.is_preview or is_same or (inputs.adopt and not call.context.recorded):
        return
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs import words
    from pulumi_vertex_training.costs.declared import cost_of_decoded
    from vertex_training.fields.values import UNKNOWN

    spec = declared.spec_of(inputs)
    region = UNKNOWN if "location" in unknown else inputs.location
    cost = cost_of_decoded(
        Decoded(spec=spec, draft=spec, unknown=unknown), region=region, table=current_prices()
    )
    if cost is not None:
        if inputs.max_cost is not None:
            cost = dataclasses.replace(cost, per_timeout=None)  # a line of its own has what `max_cost` allows
        OPERATION.print_once(
            f"{declared.resource(checked)} {words.verb(inputs.endpoint)}: {words.sentence(cost)}",
            urn=call.urn,
        )


def announce_resize(name: str, old: Decoded[Any], new: Decoded[Any], *, urn: str) -> None:
    """Print what the machines of a persistent resource cost before and after a resize, if that differs."""
    if new.draft is None:
        return
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs import words
    from pulumi_vertex_training.costs.declared import cost_of_decoded

    table = current_prices()
    before, after = (cost_of_decoded(each, region=new.draft.location, table=table) for each in (old, new))
    text = words.of_resized_machines(before, after) if before is not None and after is not None else ""
    if text:
        OPERATION.print_once(f"{name} {words.verb(new.draft.endpoint)}: {text}", urn=urn)
