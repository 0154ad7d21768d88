"""HTTP sessions for an `Endpoint`, and Google's client of Cloud Storage for the content of objects.

They are created on first use and kept for the endpoints that were used last.

This module neither reads nor writes the environment for the emulator: each client gets its address and token.
So `STORAGE_EMULATOR_HOST` cannot redirect an emulator's calls, and its sessions use no proxy.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from pulumi_vertex_training.cloud import imports
from pulumi_vertex_training.cloud.endpoint import STORAGE_URL, Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session
    from requests.adapters import HTTPAdapter

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_CONNECTIONS = 32
"""Connections that a session keeps; with fewer than a caller's threads, urllib3 warns and drops some."""

_ENDPOINTS = 32
"""Endpoints whose clients are kept. An emulator that is started again has a new endpoint, and a client of the
old one keeps its connections."""

R = TypeVar("R")

Middleware = Callable[["PreparedRequest", "Callable[[], Response]"], "Response"]
"""A function called in place of a request, with the request and a function that sends it."""

_middleware: list[Middleware] = []


@contextlib.contextmanager
def middleware(around: Middleware) -> Iterator[None]:
    """Route all requests that this module's clients send within the context through `around`.

    `around` is called for every attempt, also after a failure, and in any thread.
    """
    _middleware.append(around)
    try:
        yield
    finally:
        _middleware.remove(around)


def has_middleware() -> bool:
    """Return whether requests are routed through a function at present."""
    return bool(_middleware)


def cached_per_endpoint(make: Callable[[Endpoint], R]) -> Callable[[Endpoint], R]:
    """Cache the result for each endpoint. Only one is created at a time: see `imports`."""
    cached = functools.lru_cache(maxsize=_ENDPOINTS)(make)

    @functools.wraps(make)
    def get(endpoint: Endpoint) -> R:
        with imports.LOCK:
            return cached(endpoint)

    return get


@cached_per_endpoint
def credentials(endpoint: Endpoint) -> Any:
    """Return the endpoint's token as credentials, or Application Default Credentials.

    Raises google.auth.exceptions.DefaultCredentialsError.
    """
    from pulumi_vertex_training.cloud.credentials import BearerToken

    if endpoint.token is not None:
        return BearerToken(endpoint.token, renewed=functools.partial(_renewed_token, endpoint))
    import google.auth

    found, _project = google.auth.default(scopes=_SCOPES)
    return found


def _renewed_token(endpoint: Endpoint) -> str | None:
    """Return the token of an emulator that was started again at the same address, or None.

    The server at the address has to prove first that it is the emulator: it gets no token for a 401.
    """
    if endpoint.data_dir is None:
        return None
    from vertex_emulator import launcher

    try:
        running = launcher.find(Path(endpoint.data_dir), timeouts=endpoint.timeouts)
    except launcher.LauncherError:
        return None
    return running.token if running is not None and running.url == endpoint.url else None


@cached_per_endpoint
def session(endpoint: Endpoint) -> Session:
    """Return an HTTP session that sends the endpoint's credentials. It is safe for threads."""
    imports.load_transport()
    from google.auth.transport.requests import AuthorizedSession

    made: Session = AuthorizedSession(credentials(endpoint))  # type: ignore[no-untyped-call]
    made.trust_env = not endpoint.is_emulator
    made.headers.update(endpoint.headers)
    adapter = _adapter()
    for scheme in ("http://", "https://"):
        made.mount(scheme, adapter)
    return made


def _adapter() -> HTTPAdapter:
    """Return an adapter that routes requests through the middleware."""
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
            def send() -> Response:
                return HTTPAdapter.send(self, request, *args, **kwargs)

            for around in _middleware:
                send = functools.partial(around, request, send)
            return send()

    return Adapter(pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS)


@cached_per_endpoint
def storage_client(endpoint: Endpoint) -> Any:
    """Return the `google.cloud.storage.Client`. Raises FailedPrecondition as `storage_url` does."""
    from google.cloud.storage import Client

    address = storage_url(endpoint)
    client = Client(
        project=endpoint.project,
        credentials=credentials(endpoint),
        _http=session(endpoint),
        client_options={"api_endpoint": address},
    )
    # Without this, the client would read each bucket in a separate thread, for its trace spans.
    client._bucket_metadata_cache = None
    if endpoint.is_emulator:
        # GOOGLE_API_USE_MTLS_ENDPOINT=always would send uploads, and the token, to this host instead.
        client._connection.API_BASE_MTLS_URL = address
    return client


def bucket_url(endpoint: Endpoint, name: str) -> str:
    """Return the URL of a bucket in the JSON API. Raises as `storage_url`."""
    return f"{storage_url(endpoint)}/storage/v1/b/{quote(name, safe='')}"


def storage_url(endpoint: Endpoint) -> str:
    """Return the address of Cloud Storage for this endpoint.

    Raises FailedPrecondition if STORAGE_EMULATOR_HOST would redirect the buckets of a Google endpoint to an
    emulator, while its jobs run in Google Cloud and cannot see them.
    """
    redirect = os.environ.get("STORAGE_EMULATOR_HOST")
    if not endpoint.is_emulator and redirect and endpoint.storage_api_url == STORAGE_URL:
        raise FailedPrecondition(
            f"STORAGE_EMULATOR_HOST is set, but the endpoint is Google Cloud ({endpoint}): buckets would be "
            "created in an emulator, where jobs on Google Cloud cannot see them. Run "
            "`unset STORAGE_EMULATOR_HOST`.",
            endpoint=endpoint,
        )
    return endpoint.storage_api_url
