"""Every kind that runs, as Pulumi declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pulumi_vertex_training.declaration import Declared, RunningInputs
from pulumi_vertex_training.replica_counts import replica_counts
from vertex_training.lifecycle import kinds
from vertex_training.specs import custom_job_kind
from vertex_training.specs.custom_job import CustomJobSpec


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(RunningInputs, CustomJobSpec):
    """The inputs of a `CustomJob`."""


CUSTOM_JOB = Declared(
    kind=kinds.CUSTOM_JOB,
    spec=custom_job_kind.CUSTOM_JOB,
    inputs=CustomJobInputs,
    progress=replica_counts,
)

DECLARED: Mapping[str, Declared] = MappingProxyType({one.kind.collection: one for one in (CUSTOM_JOB,)})
"""The kinds by collection, which the full name of everything that runs has in it."""


def declared_of(name: str) -> Declared:
    """The kind of what has this full name. Raises KeyError for the name of none."""
    return DECLARED[name.rpartition("/")[0].rpartition("/")[2]]
