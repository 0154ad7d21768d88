"""What Artifact Registry has to say about repositories on its hosts, and what the names of clients mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vertex_emulator.container_registry import names
from vertex_emulator.container_registry.errors import RegistryError, name_unknown


def _nowhere(_project: str, _repository: str) -> Sequence[str]:
    return ()


def _anywhere(_host: str, _path: str) -> None:
    return


def _anything(_host: str, _path: str, _tag: str) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Authority:
    """Asked before anything is written. Refuses by raising `RegistryError`; the default refuses nothing.

    `locations_of(project, repository)`: where Artifact Registry has a repository of that name.
    `writable(host, path)`: whether blobs and manifests may be pushed to HOST/PATH (`NAME_UNKNOWN`, `DENIED`).
    `movable(host, path, tag)`: whether a tag that is there may stand for another manifest, or be removed.
    `removable(host, path)`: whether manifests and blobs may be removed.
    """

    locations_of: Callable[[str, str], Sequence[str]] = _nowhere
    writable: Callable[[str, str], None] = _anywhere
    movable: Callable[[str, str, str], None] = _anything
    removable: Callable[[str, str], None] = _anywhere

    def canonical(self, name: str) -> str:
        """HOST/PATH for a name in a request: that itself, or PROJECT/REPOSITORY/IMAGE of Artifact Registry.

        Raises `RegistryError` 400, 404.
        """
        names.check_repository(name)
        if names.is_canonical(name):
            return name
        project, _, rest = name.partition("/")
        repository, _, image = rest.partition("/")
        if not image:
            raise name_unknown(
                name,
                f"There is no repository {name}. Names here are HOST/PATH, such as "
                "us-central1-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE or docker.io/library/python, or in "
                "short PROJECT/REPOSITORY/IMAGE for Artifact Registry.",
            )
        locations = self.locations_of(project, repository)
        if not locations:
            raise name_unknown(
                name,
                f"Artifact Registry has no repository {repository} in project {project}. Create it first, or "
                "begin the name with the image's host.",
            )
        if len(locations) > 1:
            raise RegistryError(
                400,
                "NAME_INVALID",
                f"Artifact Registry has repositories {repository} of project {project} in "
                f"{', '.join(sorted(locations))}. Say which one: "
                f"{sorted(locations)[0]}-docker.pkg.dev/{name}.",
            )
        return names.check_repository(f"{locations[0]}-docker.pkg.dev/{name}")

    def check_writable(self, repository: str) -> None:
        """Raises `RegistryError`."""
        self.writable(*_split(repository))

    def check_movable(self, repository: str, tag: str) -> None:
        """Raises `RegistryError`."""
        self.movable(*_split(repository), tag)

    def check_removable(self, repository: str) -> None:
        """Raises `RegistryError`."""
        self.removable(*_split(repository))


def _split(repository: str) -> tuple[str, str]:
    host, _, path = repository.partition("/")
    return host, path
