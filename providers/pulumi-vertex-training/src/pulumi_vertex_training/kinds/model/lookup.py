"""An existing resource of this kind, as `get_model` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.get_functions import Lookup
from pulumi_vertex_training.kinds.model import gateway


@dataclass(frozen=True, kw_only=True)
class ModelArguments:
    """The arguments of `get_model`."""

    model_id: str
    version: str = ""
    project: str | None = None
    location: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExistingModel:
    """A version of a model that exists."""

    name: str
    """Full name of the model."""
    full_name: str
    """Full name of the version, with `@VERSION`."""
    model_id: str
    """Id of the model, the last part of its name."""
    version_id: str
    """Number of the version."""
    version_aliases: tuple[str, ...]
    """Names of the version."""
    display_name: str
    """Name for people."""
    artifact_uri: str
    """gs:// directory of the files, "" without one."""
    container_image_uri: str
    """Image that serves the model, "" without one."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the model."""


def _read(endpoint: Endpoint, arguments: ModelArguments) -> ExistingModel:
    record = gateway.get(endpoint, f"{endpoint.parent}/models/{LOOKUP.name(arguments)}")
    return ExistingModel(
        name=record.name,
        full_name=record.full_name,
        model_id=record.name.rpartition("/")[2],
        version_id=record.version,
        version_aliases=record.aliases,
        display_name=str(record.wire.get("displayName", "")),
        artifact_uri=str(record.wire.get("artifactUri", "")),
        container_image_uri=str((record.wire.get("containerSpec") or {}).get("imageUri", "")),
        labels=record.labels,
    )


LOOKUP = Lookup(
    arguments=ModelArguments,
    result=ExistingModel,
    noun="model",
    name=lambda given: f"{given.model_id}@{given.version}" if given.version else given.model_id,
    read=_read,
)
