"""Artifact Registry: its methods put together, and what the emulator's server needs of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from vertex_emulator.artifact_registry.contents import Contents
from vertex_emulator.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.artifact_registry.methods import locations
from vertex_emulator.artifact_registry.methods.docker_images import DockerImages
from vertex_emulator.artifact_registry.methods.files import Files
from vertex_emulator.artifact_registry.methods.iam import IamPolicies
from vertex_emulator.artifact_registry.methods.packages import Packages
from vertex_emulator.artifact_registry.methods.repositories import Repositories
from vertex_emulator.artifact_registry.methods.settings import Settings
from vertex_emulator.artifact_registry.methods.tags import Tags
from vertex_emulator.artifact_registry.methods.versions import Versions
from vertex_emulator.artifact_registry.parts import Parts
from vertex_emulator.artifact_registry.store import Store
from vertex_emulator.container_registry.catalog import Registry
from vertex_emulator.http.messages import Request, Response, Route, json_response
from vertex_emulator.kernel.agenda import Agenda
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc import methods as rpc
from vertex_emulator.rpc.methods import Binding
from vertex_emulator.rpc.operations import Operations

_API = "/v1/projects/([^/]+)/services/([^/:]+)"
_HERE = ("aiplatform", "artifactregistry", "logging", "storage")


class ArtifactService:
    """The repositories of one emulator; `store` is made before the registry, which asks it."""

    def __init__(
        self, store: Store, registry: Registry, *, database: Database, clock: Clock, agenda: Agenda
    ) -> None:
        self.store = store
        self._parts = Parts(
            store=store,
            contents=Contents(registry, clock),
            operations=Operations(database),
            clock=clock,
        )
        self._housekeeping = Housekeeping(self._parts, agenda)

    def routes(self) -> Sequence[Route]:
        """The methods, and which APIs are enabled: gcloud asks for that of Container Analysis."""
        services = (descriptors.ARTIFACT_REGISTRY, descriptors.LOCATIONS)
        return [*rpc.routes(services, self.bindings()), Route("GET", _API, _api)]

    def bindings(self) -> Mapping[str, Binding]:
        """The methods that are answered, by their full names."""
        repositories = Repositories(self._parts, self._housekeeping)
        packages, versions, tags = Packages(self._parts), Versions(self._parts), Tags(self._parts)
        files, images = Files(self._parts), DockerImages(self._parts)
        iam, settings = IamPolicies(self._parts), Settings(self._parts)
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
            f"{descriptors.LOCATIONS}.GetLocation": locations.get_location,
            f"{descriptors.LOCATIONS}.ListLocations": locations.list_locations,
        }

    def clock_changing(self, jump: int) -> AbstractContextManager[None]:
        """Entered while somebody sets the clock."""
        return self._housekeeping.clock_changing(jump)


def _api(_: Request, match: re.Match[str]) -> Response:
    state = "ENABLED" if match[2].removesuffix(".googleapis.com") in _HERE else "DISABLED"
    return json_response({"name": f"projects/{match[1]}/services/{match[2]}", "state": state})
