"""The gateways of all kinds that run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pulumi_vertex_training.cloud.jobs import Gateway
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines

GATEWAYS: Mapping[str, Gateway] = MappingProxyType(
    {one.collection: one for one in (custom_jobs.GATEWAY, tuning_jobs.GATEWAY, training_pipelines.GATEWAY)}
)
"""By collection, which every full name of what they have has in it."""


def gateway_of(name: str) -> Gateway:
    """The gateway of what has this full name. Raises KeyError for the name of none."""
    return GATEWAYS[name.rpartition("/")[0].rpartition("/")[2]]
