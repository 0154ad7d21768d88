"""All kinds of resource, with an entry for each. Imports a kind only when one of its parts is requested.

A part is a value in a module of the kind's package: `KIND` in `kind`, `GATEWAY` in `gateway`, `DECLARED` in
`provider`, `DOCUMENT` in `document`, `VIEW` in `view`, and the provider classes in `provider`. The packages
that use a part have a typed function that returns it: `runs.gateway.gateway_of`,
`core.running.declaration.declared_of`, `documents.document.document_kinds`, `views.kind_view.view_of`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from vertex_training import type_tokens

T = TypeVar("T")

PACKAGE = type_tokens.PACKAGE
"""Name of the Pulumi package that the plugin serves."""

ADDRESSES = f"{__package__}.providers"
"""Module name of the providers in every state."""


type_token, package_token = type_tokens.dynamic, type_tokens.package
"""The type tokens of a resource class: as a dynamic resource, and in the package."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A kind of resource.

    `folder` is its package in `kinds`, `resources` are its resource classes, each with a provider of that
    name. `collection` is the part of a full name before the id, such as "customJobs", for kinds of Vertex AI.
    `is_job` is true for a runnable kind, whose resources are jobs.
    """

    folder: str
    resources: tuple[str, ...]
    collection: str = ""
    is_job: bool = False

    @property
    def providers(self) -> tuple[str, ...]:
        """Names of the provider classes."""
        return tuple(f"{resource}Provider" for resource in self.resources)

    def part(self, module: str, name: str, of: type[T]) -> T:
        """Load the value `name` of a module of the kind. Raises TypeError if it is not an `of`."""
        value = _value(f"{__package__}.kinds.{self.folder}.{module}", name)
        if not isinstance(value, of):
            raise TypeError(f"{self.folder}.{module}.{name} is a {type(value).__name__}, not a {of.__name__}")
        return value


@functools.cache
def _value(module: str, name: str) -> Any:
    """Return a value of a module. A list of 1,000 jobs asks for some of them thousands of times."""
    return getattr(importlib.import_module(module), name)


CUSTOM_JOB = Entry(folder="custom_job", resources=("CustomJob",), collection="customJobs", is_job=True)
TUNING_JOB = Entry(
    folder="hyperparameter_tuning_job",
    resources=("HyperparameterTuningJob",),
    collection="hyperparameterTuningJobs",
    is_job=True,
)
PIPELINE = Entry(
    folder="training_pipeline",
    resources=("TrainingPipeline",),
    collection="trainingPipelines",
    is_job=True,
)
ENTRIES = (
    CUSTOM_JOB,
    TUNING_JOB,
    PIPELINE,
    Entry(folder="persistent_resource", resources=("PersistentResource",), collection="persistentResources"),
    Entry(folder="model", resources=("Model",), collection="models"),
    Entry(folder="staging_bucket", resources=("StagingBucket",)),
    Entry(folder="image_repository", resources=("ImageRepository",)),
    Entry(folder="training_image", resources=("TrainingImage",)),
    Entry(folder="staged", resources=("StagedPackage", "StagedFile")),
    Entry(folder="staged_folder", resources=("StagedFolder",)),
    Entry(folder="training_schedule", resources=("TrainingSchedule",)),
)

RUNNABLE = tuple(entry for entry in ENTRIES if entry.is_job)
"""Runnable kinds, custom jobs first."""

PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "StackKeyProvider": f"{__package__}.core.identity.stack_key",
        **{
            name: f"{__package__}.kinds.{entry.folder}.provider"
            for entry in ENTRIES
            for name in entry.providers
        },
    }
)
"""Module of every provider class that a state may name."""

COMPONENTS: Mapping[str, str] = MappingProxyType(
    {
        "DistributedTraining": f"{__package__}.kinds.distributed_training.component",
        "TrainingEnvironment": f"{__package__}.environment.component",
    }
)
"""Module of every component that the plugin constructs: `COMPONENT` in it."""

RESOURCES = tuple(name for entry in ENTRIES for name in entry.resources)
"""Names of the resource classes."""

TYPES: Mapping[str, str] = MappingProxyType(
    {type_token(name): name for entry in ENTRIES for name in entry.resources}
)
"""Name of every resource class by its type token as a dynamic resource, without `StackKey`."""

_RESOURCES = frozenset(TYPES.values())

PERSISTENT = tuple(entry for entry in ENTRIES if entry.collection and not entry.is_job)
"""Kinds of Vertex AI that are not jobs: persistent resources and models."""


def resource_of(token: str) -> str:
    """Return the resource class of a type token, dynamic or of the package; "" for any other token."""
    name = type_tokens.resource_of(token)
    return name if name in _RESOURCES else ""


def runnable(collection: str) -> Entry:
    """Return the runnable kind of a collection. Raises KeyError for any other collection."""
    for entry in RUNNABLE:
        if entry.collection == collection:
            return entry
    raise KeyError(collection)


def collection_of(name: str) -> str:
    """Return the collection in a full name, "" if the name has none."""
    return name.rpartition("/")[0].rpartition("/")[2]


def is_runnable(name: str) -> bool:
    """Return whether a full name is of a runnable kind; names that Pulumi's mocks make up are not."""
    return any(entry.collection == collection_of(name) for entry in RUNNABLE)
