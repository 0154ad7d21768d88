"""The Artifact Registry service: its methods, and its rules for pushes and deletions of images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.permissions.denials import AllGranted, Grants
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc import methods as rpc
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.artifact_registry.backend import Backend, has_images, has_immutable_tags
from vertex_emulator.services.artifact_registry.contents import Contents
from vertex_emulator.services.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.services.artifact_registry.methods.docker_images import DockerImages, Files
from vertex_emulator.services.artifact_registry.methods.packages import Packages
from vertex_emulator.services.artifact_registry.methods.repositories import IamPolicies, Repositories
from vertex_emulator.services.artifact_registry.methods.settings import Settings, get_location, list_locations
from vertex_emulator.services.artifact_registry.methods.versions import Tags, Versions
from vertex_emulator.services.artifact_registry.names import LEGACY_IDS, RepositoryName
from vertex_emulator.services.artifact_registry.repository_fields import DOCKER, PACKAGE, format_of
from vertex_emulator.services.artifact_registry.store import Record, Store
from vertex_emulator.services.container_registry.authority import Authority
from vertex_emulator.services.container_registry.errors import RegistryError, name_unknown
from vertex_emulator.services.container_registry.registry import Registry

SERVICES = (descriptors.ARTIFACT_REGISTRY, descriptors.LOCATIONS)


class ArtifactService:
    """The Artifact Registry of one emulator. The registry's `Authority` uses the same `store`."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        grants: Grants | None = None,
    ) -> None:
        self._grants = grants or AllGranted()
        self.store = store
        self._backend = Backend(
            store=store,
            contents=Contents(registry, clock),
            operations=Operations(database),
            clock=clock,
        )
        self._housekeeping = Housekeeping(self._backend, scheduler)

    def routes(self) -> Sequence[Route]:
        """Return the routes of the methods."""
        return rpc.routes(SERVICES, self.bindings())

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        repositories = Repositories(self._backend, self._housekeeping)
        packages, versions, tags = Packages(self._backend), Versions(self._backend), Tags(self._backend)
        files, images = Files(self._backend), DockerImages(self._backend)
        iam, settings = IamPolicies(self._backend, self._grants), Settings(self._backend)
        methods: Mapping[str, Binding] = {
            "CreateRepository": repositories.create,
            "GetRepository": repositories.get,
            "ListRepositories": repositories.list,
            "UpdateRepository": repositories.update,
            "DeleteRepository": repositories.delete,
            "GetPackage": packages.get,
            "ListPackages": packages.list,
            "UpdatePackage": packages.update,
            "DeletePackage": packages.delete,
            "GetVersion": versions.get,
            "ListVersions": versions.list,
            "UpdateVersion": versions.update,
            "DeleteVersion": versions.delete,
            "BatchDeleteVersions": versions.batch_delete,
            "CreateTag": tags.create,
            "GetTag": tags.get,
            "ListTags": tags.list,
            "UpdateTag": tags.update,
            "DeleteTag": tags.delete,
            "GetFile": files.get,
            "ListFiles": files.list,
            "GetDockerImage": images.get,
            "ListDockerImages": images.list,
            "GetIamPolicy": iam.get,
            "SetIamPolicy": iam.set,
            "TestIamPermissions": iam.test,
            "GetProjectSettings": settings.get_project,
            "UpdateProjectSettings": settings.update_project,
            "GetVPCSCConfig": settings.get_vpcsc,
            "UpdateVPCSCConfig": settings.update_vpcsc,
        }
        return {
            **{f"{descriptors.ARTIFACT_REGISTRY}.{name}": method for name, method in methods.items()},
            f"{descriptors.LOCATIONS}.GetLocation": get_location,
            f"{descriptors.LOCATIONS}.ListLocations": list_locations,
        }

    def create_for_push(self, name: RepositoryName) -> None:
        """Create a repository of Container Registry, which the first push creates. Keep an existing one."""
        request = descriptors.message(f"{PACKAGE}.CreateRepositoryRequest")
        request.parent = f"projects/{name.place.project}/locations/{name.place.location}"
        request.repository_id = name.id
        request.repository.format = DOCKER
        try:
            Repositories(self._backend, self._housekeeping).create(request)
        except RpcError as error:
            if error.code != "ALREADY_EXISTS":
                raise

    def clock_changing(self, jump: int) -> AbstractContextManager[None]:
        """Return the context in which the clock is set."""
        return self._housekeeping.clock_changing(jump)


_HOST = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev")


def authority(store: Store, create: Callable[[RepositoryName], None]) -> Authority:
    """Return the checks that the container registry makes before an image is pushed or deleted.

    `create` creates a repository of Container Registry at its first push.
    """
    rules = PushRules(store, create)
    return Authority(
        locations_of=rules.locations_of,
        writable=rules.writable,
        movable=rules.movable,
        removable=rules.removable,
    )


@dataclass(frozen=True)
class PushRules:
    """The rules for images on Artifact Registry's hosts. Images of other hosts are always allowed."""

    store: Store
    create: Callable[[RepositoryName], None]

    def locations_of(self, project: str, repository: str) -> tuple[str, ...]:
        """Return the locations in which a project has a repository of that name."""
        return tuple(each.name.place.location for each in self.store.with_path(project, repository))

    def writable(self, host: str, path: str) -> None:
        """Check that images may be pushed to HOST/PATH. Raises `RegistryError`."""
        location = _location(host)
        if location is None:
            return
        project, repository, image = _split_path(path)
        record = self._record(location, path)
        if record is None and image and LEGACY_IDS.get(repository) == location:
            self.create(RepositoryName(place=Place(project=project, location=location), id=repository))
            record = self._record(location, path)
        self._check(record, location, host, path)

    def _check(self, record: Record | None, location: str, host: str, path: str) -> None:
        if record is None:
            project, repository, _ = _split_path(path)
            raise name_unknown(
                f"{host}/{path}",
                f'Repository "{repository}" not found in project {project}, location {location}. Create it: '
                f"gcloud artifacts repositories create {repository} --repository-format=docker "
                f"--location={location}",
            )
        if not has_images(record):
            raise RegistryError(
                400,
                "UNSUPPORTED",
                f"The repository {record.name} has the format {format_of(record.repository)}. Push "
                "images to a repository with the format DOCKER.",
            )

    def movable(self, host: str, path: str, tag: str) -> None:
        """Check that a tag may be moved to another manifest or deleted. Raises `RegistryError`."""
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
        """Check that images may be deleted from HOST/PATH. Raises `RegistryError`."""
        location = _location(host)
        if location is not None:
            self._check(self._record(location, path), location, host, path)

    def _record(self, location: str, path: str) -> Record | None:
        project, repository, image = _split_path(path)
        if not image:
            return None
        name = RepositoryName(place=Place(project=project, location=location), id=repository)
        record = self.store.get(name)
        # Image paths have the project's ID; the emulator cannot translate a project number into it.
        return record if record is not None and record.name == name else None


def _location(host: str) -> str | None:
    match = _HOST.fullmatch(host)
    return match[1] if match else None


def _split_path(path: str) -> tuple[str, str, str]:
    """Split a path into project, repository and image. A domain-scoped project is DOMAIN/PROJECT in it."""
    project, _, rest = path.partition("/")
    if "." in project:
        below, _, rest = rest.partition("/")
        project = f"{project}:{below}"
    repository, _, image = rest.partition("/")
    return project, repository, image
