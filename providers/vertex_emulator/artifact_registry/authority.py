"""What Artifact Registry has to say when images are pushed and removed on its hosts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vertex_emulator.artifact_registry.names import RepositoryName
from vertex_emulator.artifact_registry.parts import has_images, has_immutable_tags
from vertex_emulator.artifact_registry.repository_fields import format_of
from vertex_emulator.artifact_registry.store import Record, Store
from vertex_emulator.container_registry.authority import Authority
from vertex_emulator.container_registry.errors import RegistryError, name_unknown
from vertex_emulator.kernel.projects import Place

_HOST = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev")


def authority(store: Store) -> Authority:
    """What the registry asks before it takes or removes an image."""
    rules = PushRules(store)
    return Authority(
        locations_of=rules.locations_of,
        writable=rules.writable,
        movable=rules.movable,
        removable=rules.removable,
    )


@dataclass(frozen=True)
class PushRules:
    """The rules, by the records of repositories. Images of other hosts are none of its business."""

    store: Store

    def locations_of(self, project: str, repository: str) -> tuple[str, ...]:
        """Where a project has a repository of that name."""
        return tuple(each.name.place.location for each in self.store.with_path(project, repository))

    def writable(self, host: str, path: str) -> None:
        """Raises `RegistryError` where blobs and manifests of HOST/PATH may not be pushed."""
        location = _location(host)
        if location is None:
            return
        record = self._record(location, path)
        if record is None:
            project, repository, _ = _parts(path)
            raise name_unknown(
                f"{host}/{path}",
                f'Repository "{repository}" not found: create it in project {project}, location {location} '
                f"(gcloud artifacts repositories create {repository} --repository-format=docker "
                f"--location={location}).",
            )
        if not has_images(record):
            raise RegistryError(
                400,
                "UNSUPPORTED",
                f"{record.name} is a repository of the format {format_of(record.repository)}. Push "
                "images to one of the format DOCKER.",
            )

    def movable(self, host: str, path: str, tag: str) -> None:
        """Raises `RegistryError` where a tag may not stand for another manifest, or be removed."""
        location = _location(host)
        record = self._record(location, path) if location is not None else None
        if record is not None and has_immutable_tags(record):
            raise RegistryError(
                400,
                "TAG_INVALID",
                f"The repository {record.name} has immutable tags, and {host}/{path} has the tag {tag}. "
                "Use another tag, or set docker_config.immutable_tags to false.",
                detail={"tag": tag},
            )

    def removable(self, host: str, path: str) -> None:
        """Raises `RegistryError` where there is nothing to remove from."""
        self.writable(host, path)

    def _record(self, location: str, path: str) -> Record | None:
        project, repository, image = _parts(path)
        if not image:
            return None
        name = RepositoryName(place=Place(project=project, location=location), id=repository)
        record = self.store.get(name)
        # Images lie below the project's name; the emulator knows no id for a number.
        return record if record is not None and record.name == name else None


def _location(host: str) -> str | None:
    match = _HOST.fullmatch(host)
    return match[1] if match else None


def _parts(path: str) -> tuple[str, str, str]:
    """Project, repository and image; a project of a domain is DOMAIN/PROJECT in a path."""
    project, _, rest = path.partition("/")
    if "." in project:
        below, _, rest = rest.partition("/")
        project = f"{project}:{below}"
    repository, _, image = rest.partition("/")
    return project, repository, image
