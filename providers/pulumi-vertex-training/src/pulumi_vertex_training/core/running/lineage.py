"""The lineage of a run, which a provider writes beside the run's outputs before it submits the job."""

from __future__ import annotations

import dataclasses
import functools
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.runs.lineage import files, lineage
from pulumi_vertex_training.runs.lineage.commit import commit_of
from pulumi_vertex_training.runs.lineage.contents import looked_up
from pulumi_vertex_training.runs.lineage.lineage import Commit, Price
from vertex_training import __version__


def write(
    declared: JobResourceType, call: Call, endpoint: Endpoint, inputs: JobInputs, sent: Mapping[str, Any]
) -> None:
    """Write the lineage of the run whose request is about to be sent; none without an output directory.

    `inputs` are those on the run's rung. A file that cannot be written is no reason not to train. Raises
    EngineGoneError.
    """
    directory = declared.spec.directory_of(sent)
    if not directory or not directory.startswith("gs://"):
        return
    endpoint = endpoint.at(inputs.location)
    with SECRETS.of_call([call.context.given]):
        found = lineage.of_request(
            sent,
            kind=declared.noun,
            project=inputs.project,
            location=inputs.location,
            marks=inputs.marks,
            is_secret=lambda text: SECRETS.masked(text) != text,
        )
        made = dataclasses.replace(
            looked_up(endpoint, found),
            commit=OPERATION.part(_commits)(Path.cwd(), OPERATION.settings.timeouts.git),
            price=_price(declared, inputs),
            versions={"pulumi-vertex-training": __version__, "python": platform.python_version()},
        )
        masked = lineage.masked(made, SECRETS.masked)
    # The lookups took time: a provider that has outlived its engine must not replace the next one's file.
    engine.require(OPERATION.engine, OPERATION.settings.timeouts)
    try:
        files.write(endpoint, directory, masked)
    except CloudError as error:
        print_line(f"warning: {declared.resource({'marks': inputs.marks})}: its run has no lineage: {error}")


def _commits() -> Callable[[Path, float], Commit | None]:
    """Return a function that asks git once for all jobs of an operation: it reads the whole working tree."""
    return functools.lru_cache(lambda folder, timeout: commit_of(folder, timeout=timeout))


def _price(declared: JobResourceType, inputs: JobInputs) -> Price | None:
    # imported only if needed
    from pulumi_vertex_training.cloud.prices.price_file import current_prices
    from pulumi_vertex_training.costs.declared import cost_of

    cost = cost_of(declared.spec_of(inputs), region=inputs.location, table=current_prices())
    return None if cost is None else Price(hourly=cost.hourly, currency=cost.currency)
