"""An existing resource of this kind, as `get_image_repository` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.get_functions import Lookup
from pulumi_vertex_training.kinds.image_repository import gateway


@dataclass(frozen=True, kw_only=True)
class RepositoryArguments:
    """The arguments of `get_image_repository`."""

    repository_id: str
    project: str | None = None
    location: str | None = None


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


def _read(endpoint: Endpoint, arguments: RepositoryArguments) -> ExistingImageRepository:
    short = arguments.repository_id
    record = gateway.get(endpoint, f"{endpoint.parent}/repositories/{short}")
    host = f"{endpoint.location}-docker.pkg.dev"
    return ExistingImageRepository(
        name=record.name,
        repository_id=short,
        registry_host=host,
        url=f"{host}/{endpoint.project}/{short}",
        location=endpoint.location,
        description=str(record.wire.get("description") or ""),
        labels=dict(record.labels),
    )


LOOKUP = Lookup(arguments=RepositoryArguments, result=ExistingImageRepository, noun="repository", read=_read)
