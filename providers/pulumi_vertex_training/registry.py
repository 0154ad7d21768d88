"""Every kind that runs, as Pulumi declares it: a module each, which is loaded when its kind is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from pulumi_vertex_training.plugin.running.declaration import JobResourceType

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "customJobs": "kinds.custom_job.custom_job",
        "hyperparameterTuningJobs": "kinds.hyperparameter_tuning_job.tuning_job",
        "trainingPipelines": "kinds.training_pipeline.training_pipeline",
    }
)
"""The modules by collection, which the full name of everything that runs has in it."""


def declared_in(collection: str) -> JobResourceType:
    """The kind of a collection; its module's `DECLARED`. Raises KeyError for a collection of none."""
    declared: JobResourceType = importlib.import_module(f"{__package__}.{_MODULES[collection]}").DECLARED
    return declared


def declared_of(name: str) -> JobResourceType:
    """The kind of what has this full name. Raises KeyError for the name of none."""
    return declared_in(_collection(name))


def is_of_a_kind(name: str) -> bool:
    """Whether it is a full name of what runs; those that Pulumi's mocks make up in a unit test are none."""
    return _collection(name) in _MODULES


def _collection(name: str) -> str:
    return name.rpartition("/")[0].rpartition("/")[2]
