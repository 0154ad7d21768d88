"""All kinds of resource, with an entry for each. Imports a kind only when one of its parts is requested.

A part is a value in a module of the kind's package: `KIND` in `kind`, `GATEWAY` in `gateway`, `DECLARED` in
`provider`, `DOCUMENT` in `document`, `VIEW` in `view`, and the provider classes in `provider`. The packages
that use a part have a typed function that returns it: `runs.gateway.gateway_of`,
`core.running.declaration.declared_of`, `documents.document.document_kinds`, `views.kind_view.view_of`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

T = TypeVar("T")

ADDRESSES = f"{__package__}.providers"
"""Module name of the providers in every state."""


def type_token(resource: str) -> str:
    """Return the type token of a resource class.

    A terminal shows it without its middle part, because that is the name in lower camel case.
    """
    return f"pulumi-python:dynamic/{resource[0].lower()}{resource[1:]}:{resource}"


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
        value = getattr(importlib.import_module(f"{__package__}.kinds.{self.folder}.{module}"), name)
        if not isinstance(value, of):
            raise TypeError(f"{self.folder}.{module}.{name} is a {type(value).__name__}, not a {of.__name__}")
        return value


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
        "StackKeyProvider": f"{__package__}.core.stack_key",
        **{
            name: f"{__package__}.kinds.{entry.folder}.provider"
            for entry in ENTRIES
            for name in entry.providers
        },
    }
)
"""Module of every provider class that a state may name."""

TYPES: Mapping[str, str] = MappingProxyType(
    {type_token(name): name for entry in ENTRIES for name in entry.resources}
)
"""Name of every resource class by its type token, without `StackKey`, which is no resource of a user."""

PERSISTENT = tuple(entry for entry in ENTRIES if entry.collection and not entry.is_job)
"""Kinds of Vertex AI that are not jobs: persistent resources and models."""


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
