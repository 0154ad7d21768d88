"""The routes of the container registry, its garbage collection, and the login file of container tools."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import SplitResult

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk.data_folder import DataFolder, service_token, write_private
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import (
    ANY_METHOD,
    Request,
    Response,
    Route,
    json_response,
    with_error_form,
)
from vertex_emulator.services.container_registry.authority import Authority
from vertex_emulator.services.container_registry.blobs_api import BlobsApi
from vertex_emulator.services.container_registry.errors import RegistryError, as_registry_error
from vertex_emulator.services.container_registry.manifests_api import DiscoveryApi, ManifestsApi
from vertex_emulator.services.container_registry.registry import FindStandIn, Registry, no_stand_ins
from vertex_emulator.services.container_registry.uploads import Uploads

COLLECT = "/_local/registry/collect"

_NAME = "/v2/(?P<name>.+)"
_MANIFEST = f"{_NAME}/manifests/(?P<reference>[^/]+)"
_BLOB = f"{_NAME}/blobs/(?P<digest>[^/]+)"
_UPLOADS = f"{_NAME}/blobs/uploads/?"
_UPLOAD = f"{_NAME}/blobs/uploads/(?P<upload>[^/]+)"
_TAGS = f"{_NAME}/tags/list"
_REFERRERS = f"{_NAME}/referrers/(?P<digest>[^/]+)"
_CATALOG = "/v2/_catalog"

_COLLECTED_EVERY = 600 * 1_000_000
"""Interval between garbage collections in microseconds of the emulator's clock."""

_PAUSE_SECONDS = 60.0
"""Minimum interval between garbage collections in seconds of real time."""


class RegistryService:
    """The container registry of one data folder."""

    def __init__(
        self,
        folder: DataFolder,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        *,
        authority: Authority | None = None,
        stand_in: FindStandIn = no_stand_ins,
        timeouts: DaemonTimeouts = DAEMON,
    ) -> None:
        self.registry = Registry(folder.registry, database, clock, stand_in=stand_in)
        self._uploads = Uploads(self.registry, clock, timeouts=timeouts)
        authority = authority or Authority()
        self._blobs = BlobsApi(self.registry, self._uploads, authority)
        self._manifests = ManifestsApi(self.registry, authority)
        self._discovery = DiscoveryApi(self.registry, authority)
        self._clock = clock
        scheduler.add("garbage of the registry", database.reserve.spending(self._tidy), pause=_PAUSE_SECONDS)

    def routes(self) -> Sequence[Route]:
        routes = (
            Route("GET", "/v2/?", _base, "registry.base.get"),
            Route("HEAD", "/v2/?", _base, "registry.base.get"),
            Route("GET", _CATALOG, self._discovery.repositories, "registry.repositories.list"),
            Route("GET", _TAGS, self._discovery.tags, "registry.tags.list"),
            Route("GET", _REFERRERS, self._discovery.referrers, "registry.referrers.list"),
            Route("GET", _MANIFEST, self._manifests.get, "registry.manifests.get"),
            Route("HEAD", _MANIFEST, self._manifests.get, "registry.manifests.get"),
            Route("PUT", _MANIFEST, self._manifests.put, "registry.manifests.put"),
            Route("DELETE", _MANIFEST, self._manifests.delete, "registry.manifests.delete"),
            Route("POST", _UPLOADS, self._blobs.begin, "registry.uploads.begin"),
            Route("PATCH", _UPLOAD, self._blobs.append, "registry.uploads.append"),
            Route("PUT", _UPLOAD, self._blobs.finish, "registry.uploads.finish"),
            Route("GET", _UPLOAD, self._blobs.status, "registry.uploads.get"),
            Route("DELETE", _UPLOAD, self._blobs.cancel, "registry.uploads.cancel"),
            Route("GET", _BLOB, self._blobs.get, "registry.blobs.get"),
            Route("HEAD", _BLOB, self._blobs.get, "registry.blobs.get"),
            Route("DELETE", _BLOB, self._blobs.delete, "registry.blobs.delete"),
            Route(ANY_METHOD, "/v2(?:/.*)?", _refuse),
        )
        collect = Route("POST", re.escape(COLLECT), self._collect)
        return (collect, *with_error_form(as_registry_error, routes))

    def collect(self) -> dict[str, int]:
        """Collect garbage now. Return the numbers of deleted uploads and blobs."""
        self._uploads.keep_active()
        return {"uploads": self._uploads.delete_abandoned(), "blobs": self.registry.collect()}

    def _collect(self, request: Request, _: re.Match[str]) -> Response:
        body_of(request)
        return json_response(self.collect())

    def _tidy(self) -> Next:
        self.collect()
        return Next(at=self._clock.microseconds() + _COLLECTED_EVERY)


def _base(_request: Request, _match: re.Match[str]) -> Response:
    return Response(200, b"{}", "application/json", {"Docker-Distribution-Api-Version": "registry/2.0"})


def _refuse(request: Request, _: re.Match[str]) -> Response:
    known = (_MANIFEST, _UPLOADS, _UPLOAD, _BLOB, _TAGS, _REFERRERS, _CATALOG, "/v2/?")
    if any(re.fullmatch(pattern, request.path) for pattern in known):
        raise RegistryError(405, "UNSUPPORTED", f"{request.path} does not allow {request.method}.")
    raise RegistryError(
        404,
        "UNSUPPORTED",
        f"The registry has no {request.method} {request.path}. Use an endpoint of the OCI distribution "
        "specification 1.1.",
    )


USER = "oauth2accesstoken"
"""User name of Artifact Registry ("Configure authentication to Artifact Registry for Docker")."""


def write_logins(
    folder: DataFolder, *, address: SplitResult, token: str, google_hosts: Iterable[str]
) -> None:
    """Write the login files of container tools: for the emulator's address, and for Google's hosts.

    Raises `DataFolderError`.
    """
    own_hosts = [f"{host}:{address.port}" for host in ("127.0.0.1", "localhost")]
    _write_auth_file(folder.registry_auth, own_hosts, token)
    _write_auth_file(folder.google_registry_auth, google_hosts, service_token(token))


def _write_auth_file(path: Path, hosts: Iterable[str], token: str) -> None:
    entry = {"auth": base64.b64encode(f"{USER}:{token}".encode()).decode("ascii")}
    value = {"auths": dict.fromkeys(hosts, entry)}
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, json.dumps(value, indent=2).encode("utf-8") + b"\n")
