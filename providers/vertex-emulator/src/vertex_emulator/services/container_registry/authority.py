"""The checks of Artifact Registry on pushes and deletions, and the translation of repository names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vertex_emulator.services.container_registry import names
from vertex_emulator.services.container_registry.errors import RegistryError, name_unknown


def _anywhere(_host: str, _path: str) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Authority:
    """The checks that are made before anything is written; each raises `RegistryError` to reject a request.

    `locations_of(project, repository)` returns the locations of Artifact Registry repositories of that name.
    `writable(host, path)` checks that blobs and manifests may be pushed to HOST/PATH.
    `movable(host, path, tag)` checks that an existing tag may be moved to another manifest, or deleted.
    `removable(host, path)` checks that manifests and blobs may be deleted.

    The defaults allow everything.
    """

    locations_of: Callable[[str, str], Sequence[str]] = lambda _project, _repository: ()
    writable: Callable[[str, str], None] = _anywhere
    movable: Callable[[str, str, str], None] = lambda _host, _path, _tag: None
    removable: Callable[[str, str], None] = _anywhere

    def canonical(self, name: str) -> str:
        """Return HOST/PATH for the repository name of a request.

        The name may be HOST/PATH, or PROJECT/REPOSITORY/IMAGE of Artifact Registry. Raises `RegistryError`
        400, 404.
        """
        names.check_repository(name)
        if names.is_canonical(name):
            return name
        project, _, rest = name.partition("/")
        repository, _, image = rest.partition("/")
        if not image:
            raise name_unknown(
                name,
                f"There is no repository {name}. Use HOST/PATH, such as "
                "us-central1-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE or docker.io/library/python, or "
                "PROJECT/REPOSITORY/IMAGE for Artifact Registry.",
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
                f"{', '.join(sorted(locations))}. Use the full name: "
                f"{sorted(locations)[0]}-docker.pkg.dev/{name}.",
            )
        return names.check_repository(f"{locations[0]}-docker.pkg.dev/{name}")

    def check_writable(self, repository: str) -> None:
        """Check that a repository may be pushed to. Raises `RegistryError`."""
        self.writable(*_split(repository))

    def check_movable(self, repository: str, tag: str) -> None:
        """Check that an existing tag may be moved or deleted. Raises `RegistryError`."""
        self.movable(*_split(repository), tag)

    def check_removable(self, repository: str) -> None:
        """Check that contents of a repository may be deleted. Raises `RegistryError`."""
        self.removable(*_split(repository))


def _split(repository: str) -> tuple[str, str]:
    host, _, path = repository.partition("/")
    return host, path
