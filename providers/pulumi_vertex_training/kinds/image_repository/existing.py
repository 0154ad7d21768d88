"""`get_image_repository`: an existing repository of Artifact Registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.kinds.image_repository import gateway
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_existing


@dataclass(frozen=True, kw_only=True)
class ExistingImageRepository:
    """A repository that exists."""

    name: str
    """Full name."""
    repository_id: str
    """Id, the last part of the name."""
    registry_host: str
    """First part of image names, LOCATION-docker.pkg.dev."""
    url: str
    """Prefix of image names, LOCATION-docker.pkg.dev/PROJECT/REPOSITORY."""
    location: str
    """Location."""
    description: str
    """Description."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""


@checked_call
def get_image_repository(
    repository_id: str, *, project: str | None = None, location: str | None = None
) -> ExistingImageRepository:
    """Return an existing repository of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such repository.

    :param repository_id: Id of the repository, the last part of its name.
    :param project: Project id. Default: the stack's project.
    :param location: Location of the repository. Default: the stack's location.
    """
    endpoint, record = read_existing(
        f"repository {repository_id}",
        lambda endpoint: (
            endpoint,
            gateway.get(endpoint, f"{endpoint.parent}/repositories/{repository_id}"),
        ),
        project=project,
        location=location,
    )
    host = f"{endpoint.location}-docker.pkg.dev"
    return ExistingImageRepository(
        name=record.name,
        repository_id=repository_id,
        registry_host=host,
        url=f"{host}/{endpoint.project}/{repository_id}",
        location=endpoint.location,
        description=str(record.wire.get("description") or ""),
        labels=dict(record.labels),
    )
