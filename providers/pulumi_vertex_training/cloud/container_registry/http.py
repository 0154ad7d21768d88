"""Requests to container registries: their addresses and credentials.

On Google Cloud, every host is a separate registry. Google's hosts get the endpoint's credentials; any other
host gets none, except the anonymous token that it may issue, as Docker Hub does. The emulator acts as all
registries at once: it gets every request, with the host as the first part of the path.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pulumi_vertex_training.cloud import clients, retry
from pulumi_vertex_training.cloud.container_registry.image_names import DOCKER_HUB, ImageName
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unauthenticated, UnexpectedAnswer

if TYPE_CHECKING:
    from requests import Response, Session

PULL, PUSH = "pull", "pull,push"

TRANSFER_TIMEOUT = 300.0
"""Seconds without progress after which a transfer is aborted."""

_CONNECTIONS = 16
_BLOCK = 1 << 18
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_TOKEN = re.compile(r"[\x21-\x7e]+")
_LOOPBACK = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?")


class RegistryHttp:
    """One session for all registries of an endpoint, with the tokens that they issued. Safe for threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._session = _session(endpoint)
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, str, str], str] = {}

    def url(self, name: ImageName, tail: str) -> str:
        """Return the address of a part of the image's repository, such as `manifests/latest`."""
        return f"{self._base(name.host)}/{name.path}/{tail}"

    def same_registry(self, one: ImageName, other: ImageName) -> bool:
        """Return whether blobs of one image's repository can be mounted in the other's."""
        return self._endpoint.is_emulator or one.host == other.host

    def repository_path(self, name: ImageName) -> str:
        """Return the path of the repository within the registry."""
        return name.repository if self._endpoint.is_emulator else name.path

    def send(
        self,
        name: ImageName,
        method: str,
        url: str,
        *,
        actions: str = PULL,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Callable[[], Any] | None = None,
        stream: bool = False,
        timeout: float = retry.CALL_TIMEOUT,
    ) -> Response:
        """Send one request, again with a token if the registry requires one of its own.

        `url` may be a location that the registry returned. Raises the errors of requests and google.auth, and
        Unauthenticated.
        """
        url = urljoin(self._base(name.host), url)
        own = urlsplit(url)[:2] == urlsplit(self._base(name.host))[:2]
        known = self._header(name, actions) if own else None

        def ask(authorization: str | None) -> Response:
            sent = {**(headers or {}), **({"Authorization": authorization} if authorization else {})}
            return self._session.request(
                method,
                url,
                params=query,
                headers=sent,
                data=body() if body is not None else None,
                stream=stream,
                timeout=timeout,
                allow_redirects=method in ("GET", "HEAD"),
            )

        response = ask(known)
        if response.status_code == 401 and own:
            if self._endpoint.is_emulator:
                token = self._renewed(known)
            else:
                token = self._exchanged(name, actions, response.headers.get("WWW-Authenticate", ""))
            if token is not None:
                response.close()
                response = ask(token)
        return response

    def _base(self, host: str) -> str:
        if self._endpoint.is_emulator:
            return f"{self._endpoint.vertex_url}/v2/{host}"
        if host == DOCKER_HUB:
            host = "registry-1.docker.io"
        address = f"http://{host}" if _LOOPBACK.fullmatch(host) else self._endpoint.address_of(host)
        return f"{address}/v2"

    def _header(self, name: ImageName, actions: str) -> str | None:
        """Return the first Authorization header to try; Google's hosts accept an access token directly."""
        with self._lock:
            for granted in {actions, PUSH}:
                if found := self._tokens.get((name.host, name.path, granted)):
                    return found
        if self._endpoint.is_emulator:
            return f"Bearer {clients.credentials(self._endpoint).token}"
        if not name.is_google_host:
            return None
        token = self._access_token(required=actions == PUSH)
        return f"Bearer {token}" if token else None

    def _renewed(self, refused: str | None) -> str | None:
        """Return the header with the token of the emulator's last start, or None if that was refused."""
        credentials = clients.credentials(self._endpoint)
        credentials.refresh(None)
        header = f"Bearer {credentials.token}"
        return None if header == refused else header

    def _access_token(self, *, required: bool) -> str | None:
        """Return Google's access token. Without credentials, return None unless it is `required`.

        Public images can be pulled without one.
        """
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import Request

        try:
            found = clients.credentials(self._endpoint)
        except DefaultCredentialsError:
            if required:
                raise
            return None
        with self._lock:
            if not found.valid:
                found.refresh(Request(session=self._session))
        return str(found.token)

    def _exchanged(self, name: ImageName, actions: str, challenge: str) -> str | None:
        """Return the token that the registry's own service issues for a repository, or None."""
        if not challenge.lower().startswith("bearer "):
            return None
        parameters = dict(_CHALLENGE.findall(challenge))
        realm = parameters.get("realm", "")
        parts = urlsplit(realm)
        if parts.scheme != "https" and not _LOOPBACK.fullmatch(parts.netloc):
            raise UnexpectedAnswer(
                f"{name.host} refers to {realm or 'no address'} for a token, which is not an https address; "
                "nothing was sent there. Check the image's name and the proxy settings.",
                resource=str(name),
                endpoint=self._endpoint,
            )
        headers = {}
        if name.is_google_host and parts.netloc == name.host:
            token = self._access_token(required=actions == PUSH)
            if token:
                basic = base64.b64encode(f"oauth2accesstoken:{token}".encode()).decode("ascii")
                headers = {"Authorization": f"Basic {basic}"}
        query = {"service": parameters.get("service", ""), "scope": f"repository:{name.path}:{actions}"}
        response = self._session.get(realm, params=query, headers=headers, timeout=retry.CALL_TIMEOUT)
        document = response.json() if response.status_code == 200 else {}
        found = (
            (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None
        )
        if not (isinstance(found, str) and _TOKEN.fullmatch(found)):
            raise Unauthenticated(
                f"{parts.netloc} issues no token for {name.repository} (HTTP {response.status_code}): it "
                "does not exist, or is not public. Check its name, or copy it to a repository of yours.",
                code=response.status_code,
                resource=str(name),
                endpoint=self._endpoint,
            )
        header = f"Bearer {found}"
        with self._lock:
            self._tokens[(name.host, name.path, actions)] = header
        return header


@clients.cached_per_endpoint
def registry_http(endpoint: Endpoint) -> RegistryHttp:
    """Return the session of an endpoint, created on first use and cached."""
    return RegistryHttp(endpoint)


def _session(endpoint: Endpoint) -> Session:
    import requests
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        """Reads bodies in large blocks, so that a layer is sent at the speed of the disk."""

        def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:
            super().init_poolmanager(connections, maxsize, block, blocksize=_BLOCK, **more)

    class Registries(requests.Session):
        """Sends only the given credentials.

        Those of ~/.netrc, which would even replace a token, are not used, and redirects get none at all.
        """

        def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
            moved = self.should_strip_auth(  # type: ignore[no-untyped-call]
                response.request.url, prepared_request.url
            )
            if moved:
                prepared_request.headers.pop("Authorization", None)

    made = Registries()
    made.auth = lambda prepared: prepared
    made.trust_env = not endpoint.is_emulator
    for scheme in ("http://", "https://"):
        made.mount(scheme, Adapter(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS))
    return made
