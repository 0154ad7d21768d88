"""`get_model`: an existing version of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.model import gateway
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_existing


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


@checked_call
def get_model(
    model_id: str, *, version: str = "", project: str | None = None, location: str | None = None
) -> ExistingModel:
    """Return an existing version of a model of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such version.

    :param model_id: Id of the model, the last part of its name.
    :param version: Number or alias of the version. Default: the model's default version.
    :param project: Project id. Default: the stack's project.
    :param location: Region. Default: the stack's location.
    """
    wanted = f"{model_id}@{version}" if version else model_id

    def read(endpoint: Endpoint) -> ModelRecord:
        return gateway.get(endpoint, f"{endpoint.parent}/models/{wanted}")

    record = read_existing(f"model {wanted}", read, project=project, location=location)
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
