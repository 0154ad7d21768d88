"""Requests to container registries: addresses, credentials, and answers of any size.

The name of an image names its registry, so its answers are not trusted: no body is read without a bound.

On Google Cloud, every host is a separate registry. Google's hosts get the endpoint's credentials; any other
host gets none, except the anonymous token that it may issue, as Docker Hub does. The emulator acts as all
registries at once: it gets every request, with the host as the first part of the path.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pulumi_vertex_training.cloud import clients
from pulumi_vertex_training.cloud.container_registry.image_names import DOCKER_HUB, ImageName
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unauthenticated, UnexpectedAnswer

if TYPE_CHECKING:
    from requests import Response, Session

LARGEST_MANIFEST = 8 << 20
"""Limit of a manifest or index in bytes; registries accept 4 MiB ("Pushing Manifests")."""

LARGEST_CONFIG = 8 << 20
"""Limit of an image's configuration in bytes."""

LARGEST_DOCUMENT = 1 << 20
"""Limit of any other document in bytes, such as a token or an error."""

_BLOCK = 1 << 16


class TooLargeError(Exception):
    """A body has more bytes than its bound, or is compressed, so that its size cannot be known."""


def blocks(response: Response, *, most: int, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield the body of a streamed answer. Raises `TooLargeError` before more than `most` bytes are yielded.

    A compressed body is rejected: requests ask for none, and a small one can expand to any size.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        response.close()
        raise TooLargeError(f"the answer has the Content-Encoding {encoding[:40]!r}, which was not asked for")
    left = most
    for block in response.iter_content(size):
        left -= len(block)
        if left < 0:
            response.close()
            raise TooLargeError(f"the answer has more than {most} bytes")
        yield block


def load(response: Response, *, most: int) -> None:
    """Read the whole body of a streamed answer, which then has it as its `content`. Raises `TooLargeError`.

    An answer that is no success keeps its status, and loses a body that is too large.
    """
    if isinstance(response._content, bytes):
        return
    try:
        content = b"".join(blocks(response, most=most))
    except TooLargeError:
        if response.status_code < 300:
            raise
        content = b""
    response._content = content


PULL, PUSH = "pull", "pull,push"

_CONNECTIONS = 16
_RECEIVED_BLOCK = 1 << 18
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
        most: int = LARGEST_DOCUMENT,
        transfers: bool = False,
    ) -> Response:
        """Send one request, again with a token if the registry requires one of its own.

        `url` may be a location that the registry returned. At most `most` bytes of the answer are read, none
        with `stream`. `transfers` allows for the content of a blob. Raises the errors of requests and
        google.auth, `TooLargeError`, and Unauthenticated.
        """
        url = urljoin(self._base(name.host), url)
        own = urlsplit(url)[:2] == urlsplit(self._base(name.host))[:2]
        known = self._header(name, actions) if own else None
        timeouts = self._endpoint.timeouts

        def ask(authorization: str | None) -> Response:
            sent = {**(headers or {}), **({"Authorization": authorization} if authorization else {})}
            return self._session.request(
                method,
                url,
                params=query,
                headers=sent,
                data=body() if body is not None else None,
                stream=True,
                timeout=timeouts.content if transfers else timeouts.call,
                allow_redirects=method in ("GET", "HEAD"),
            )

        response = ask(known)
        if response.status_code == 401 and own:
            load(response, most=LARGEST_DOCUMENT)
            if self._endpoint.is_emulator:
                token = self._renewed(known)
            else:
                token = self._exchanged(name, actions, response.headers.get("WWW-Authenticate", ""))
            if token is not None:
                response = ask(token)
        if not stream:
            load(response, most=most)
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
        response = self._session.get(
            realm, params=query, headers=headers, timeout=self._endpoint.timeouts.call, stream=True
        )
        found = _token_in(response)
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


def _token_in(response: Response) -> object:
    """Return what a token service answers as its token, or None."""
    try:
        load(response, most=LARGEST_DOCUMENT)
        document = response.json() if response.status_code == 200 else {}
    except (TooLargeError, ValueError, RecursionError):
        return None
    return (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None


def _session(endpoint: Endpoint) -> Session:
    import requests
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        """Reads bodies in large blocks, so that a layer is sent at the speed of the disk."""

        def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:
            super().init_poolmanager(connections, maxsize, block, blocksize=_RECEIVED_BLOCK, **more)

    class Registries(requests.Session):
        """Sends only the given credentials, and reads no body on the way to the last answer.

        Those of ~/.netrc, which would even replace a token, are not used, and redirects get none at all.
        """

        def get_redirect_target(self, resp: Response) -> str | None:
            target: str | None = super().get_redirect_target(resp)
            if target is not None:
                # The library would read the whole body of the redirect.
                resp.close()
                resp._content = b""
            return target

        def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
            moved = self.should_strip_auth(  # type: ignore[no-untyped-call]
                response.request.url, prepared_request.url
            )
            if moved:
                prepared_request.headers.pop("Authorization", None)

    made = Registries()
    made.auth = lambda prepared: prepared
    made.trust_env = not endpoint.is_emulator
    made.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        made.mount(scheme, Adapter(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS))
    return made
