"""The gateways of all kinds that run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.cloud import custom_jobs, training_pipelines, tuning_jobs
from vertex_training.cloud.jobs import Gateway

GATEWAYS: Mapping[str, Gateway] = MappingProxyType(
    {one.collection: one for one in (custom_jobs.GATEWAY, tuning_jobs.GATEWAY, training_pipelines.GATEWAY)}
)
"""By collection, which every full name of what they have has in it."""


def gateway_of(name: str) -> Gateway:
    """The gateway of what has this full name. Raises KeyError for the name of none."""
    return GATEWAYS[name.rpartition("/")[0].rpartition("/")[2]]
