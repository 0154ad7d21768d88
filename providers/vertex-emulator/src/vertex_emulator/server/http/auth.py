"""Authentication and authorization of requests, and the renewal of the emulator's token.

The emulator runs commands for every authenticated client, so each request needs one of these secrets:

* The token gives access to everything. Container tools send it as the password of `oauth2accesstoken`, as
  they do to Google.
* The service token gives access to everything except the emulator's controls below /_local.
* The storage secret, as a path prefix (`/s/SECRET/storage/v1/...`), gives access to Cloud Storage only. It is
  for clients that send no credentials to an emulator.
* The metadata secret, as a path prefix (`/m/SECRET/PROJECT/computeMetadata/...`), gives access to the
  metadata server, which returns the service token. Google's clients send no credentials to the metadata
  server, so without the prefix every user of this machine could get the token.
* A signed URL of Cloud Storage, or the address of a resumable upload, which only the client that began the
  upload knows, gives access to the call or upload that it names. Web pages may use both.

Otherwise a web page must not reach the emulator through a browser. The Host header must name this machine (a
different name means DNS rebinding), and requests that a browser makes for a page are rejected, even if the
page is an object in a bucket.

While the emulator does not run, another program of this machine can listen at its port, and clients that have
the token send it there. So a start makes a new token, unless jobs are live and the port is the one that their
programs know: those programs hold secrets that follow from the token, and would fail with others.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from vertex_emulator.kernel.clock import now
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.server.http.google_paths import BATCH, google_path
from vertex_emulator.server.http.messages import Headers, HttpError, not_supported

EXCHANGE = "/oauth2/v4/token"
HEALTH = "/_local/health"
IMPORT = "/_local/import"

_OPEN = (("GET", HEALTH), ("POST", EXCHANGE))
"""The calls that need no secret: an assertion is in the body."""
_LOCAL_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?", re.IGNORECASE)
_STORAGE_PATH = re.compile(r"/(?:(?:upload|resumable/upload|download|batch)/)?storage/v1(?:/.*)?")
_OBJECT_DATA = re.compile(r"/(?:(?:resumable/)?upload|batch)/storage/v1(?:/.*)?")
_PREFIX = re.compile(r"/s/([^/]*)(/.*)")
_METADATA = re.compile(r"/m/([^/]*)(/.*)")
_CONTROLS = "/_local/"
_REGISTRY = re.compile(r"/v2(?:/(?!entries:).*)?")
_BASIC_USER = re.compile(r"oauth2accesstoken|_token|_dcgcloud_token|_dcgcr_[0-9_]{1,20}_token")
"""The user names of Google's documentation, of crane, gcloud and docker-credential-gcr."""
_BUCKET_NAME = r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"
_XML_PATH = re.compile(rf"/{_BUCKET_NAME}(?:/.*)?")
SERVICE_SEGMENTS = r"v[0-9]+(?:(?:alpha|beta|p)[0-9a-z]*)?|storage|upload|resumable|download|batch"
"""First path segments of services. Buckets with these names are reachable with the storage prefix only."""
_XML_PATH_OUTSIDE_SERVICES = re.compile(rf"/(?!(?:{SERVICE_SEGMENTS})(?:/|$)){_BUCKET_NAME}(?:/.*)?")
_TARGET = re.compile(r"/[!-~]*")
_PREFIXED_SEGMENT = re.compile(r"(/s/[^/]*)?/([^/]*%[^/]*)(/.*)?")
_UNRESERVED = re.compile(r"%(3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|2[DdEe]|5[Ff]|7[Ee])")


class Access(enum.IntEnum):
    """The secret that a client has shown: none, one for services or a ticket, or the emulator's token."""

    NONE = 0
    SERVICES = 1
    OWNER = 2


CALLER: ContextVar[Access] = ContextVar("caller", default=Access.NONE)
"""The access of the request that this thread handles; work without a request has none."""


@dataclass(frozen=True, kw_only=True)
class AuthenticatedRequest:
    """An authenticated request. `base_url` includes the prefix with a secret, and `path` does not.

    `check_part` is set for a batch without a token: it checks the headers of a part, which has its own, and
    raises `HttpError` 401, 403.
    """

    path: str
    base_url: str
    access: Access = Access.SERVICES
    storage_only: bool = False
    metadata_only: bool = False
    check_part: Callable[[Headers], object] | None = None


class Tickets(Protocol):
    """Cloud Storage's signed URLs, signed headers, and addresses of resumable uploads."""

    def accept(
        self, method: str, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]
    ) -> bool:
        """Return whether the request carries a ticket. Raises `HttpError` for an invalid ticket."""


@dataclass(frozen=True, kw_only=True)
class Authenticator:
    """The checks that every request passes before it reaches a service.

    `is_assertion` tells whether a token is signed with the emulator's key, which gives the access of the
    service token. `host_refusal` returns why a host of Google is refused, or None.
    `replaced` returns when a secret of an earlier start was replaced, or None for any other text.
    """

    token: str
    storage_secret: str
    service_token: str | None = None
    metadata_secret: str | None = None
    tickets: Tickets | None = None
    is_assertion: Callable[[str], bool] = lambda _: False
    host_refusal: Callable[[str], str | None] = lambda _: None
    replaced: Callable[[str], str | None] = lambda _: None

    def authenticate(
        self,
        method: str,
        path: str,
        headers: Headers,
        query: Mapping[str, list[str]] | None = None,
        *,
        google_host: str | None = None,
    ) -> AuthenticatedRequest:
        """Authenticate a request. `path` is the raw path without query. Raises `HttpError` 400, 401, 403.

        `google_host` is the host of Google that the client has connected to, through the proxy.
        """
        if not _TARGET.fullmatch(path):
            raise HttpError(400, "", "The request target must be an ASCII path that begins with /.")
        path = plain_bucket(path)
        if google_host is not None:
            return self._authenticate_at(google_host, method, path, headers, query)
        host = _check_host(headers)
        prefixed = _PREFIX.fullmatch(path)
        inner = prefixed[2] if prefixed else path
        ticket = bool(self.tickets and self.tickets.accept(method, inner, query or {}, headers))
        if not ticket:
            _check_browser(headers)
        if self.metadata_secret is not None and (metadata := _METADATA.fullmatch(path)):
            # Python's library looks for the server first, and would hide why it refuses a replaced secret.
            is_ping = metadata[2].strip("/").count("/") == 0 and self.replaced(metadata[1]) is not None
            if not _same(metadata[1], self.metadata_secret) and not is_ping:
                raise self._foreign(metadata[1], "secret in the path")
            return AuthenticatedRequest(
                path=metadata[2], base_url=f"http://{host}/m/{metadata[1]}", metadata_only=True
            )
        if prefixed:
            if not _same(prefixed[1], self.storage_secret):
                # Not 401: Python's client hides it behind "Anonymous credentials cannot be refreshed".
                raise HttpError(403, "", self._foreign(prefixed[1], "secret in the path").message)
            if not (_STORAGE_PATH.fullmatch(inner) or _XML_PATH.fullmatch(inner)):
                raise HttpError(
                    403,
                    "",
                    "The secret in the path gives access to Cloud Storage only. For everything else, send "
                    "the emulator's token as 'Authorization: Bearer TOKEN'.",
                )
            return AuthenticatedRequest(
                path=inner, base_url=f"http://{host}/s/{prefixed[1]}", storage_only=True
            )
        if ticket:
            return AuthenticatedRequest(path=path, base_url=f"http://{host}", storage_only=True)
        is_open = (method, path) in _OPEN
        access = Access.NONE if is_open else self.check_token(path, headers)
        return AuthenticatedRequest(path=path, base_url=f"http://{host}", access=access)

    def _authenticate_at(
        self, host: str, method: str, path: str, headers: Headers, query: Mapping[str, list[str]] | None
    ) -> AuthenticatedRequest:
        """Authenticate a request to a host of Google, which has no prefixes and no controls."""
        given = headers.get("host", "").lower().removesuffix(":443")
        if given != host:
            raise HttpError(421, "", f"The Host header is {given!r}, but the connection is to {host}.")
        if (why := self.host_refusal(host)) is not None:
            raise not_supported(why)
        ticket = bool(self.tickets and self.tickets.accept(method, path, query or {}, headers))
        if not ticket:
            _check_browser(headers)
        bucket = host.removesuffix(".storage.googleapis.com")
        inner = google_path(host, path)
        in_parts = inner == BATCH and "authorization" not in headers
        is_open = ticket or in_parts or (method, inner) in _OPEN
        access = Access.NONE if is_open else self.check_token(path, headers)
        if inner.startswith(_CONTROLS):
            raise HttpError(404, "", f"{host} does not have the path {path}.")
        return AuthenticatedRequest(
            path=inner,
            base_url=f"https://{'storage.googleapis.com' if bucket != host else host}",
            storage_only=ticket or host.endswith("storage.googleapis.com"),
            access=access,
            check_part=(lambda headers: self.check_token(path, headers)) if in_parts else None,
        )

    def check_token(self, path: str, headers: Headers) -> Access:
        """Return the access that the headers of a request for `path` show. Raises `HttpError` 401, 403."""
        registry = is_registry(path)
        given = headers.get("authorization")
        if given is None:
            raise _unauthenticated("The request carries no token.", registry=registry)
        scheme, _, token = given.partition(" ")
        if registry and scheme.lower() == "basic":
            token = _password(token)
        elif scheme.lower() != "bearer":
            raise _unauthenticated(
                "The Authorization header is not of the form 'Bearer TOKEN'.", registry=registry
            )
        if self.service_token is not None and _same(token.strip(), self.service_token):
            if path.startswith(_CONTROLS):
                raise HttpError(
                    403,
                    "",
                    "The token of the metadata server gives access to Google's services only. For paths "
                    "below /_local, send the emulator's own token.",
                )
            return Access.SERVICES
        if not _same(token.strip(), self.token):
            if not path.startswith(_CONTROLS) and self.is_assertion(token.strip()):
                return Access.SERVICES
            raise self._foreign(token.strip(), "token", registry=registry)
        return Access.OWNER

    def _foreign(self, secret: str, what: str, *, registry: bool = False) -> HttpError:
        """Return the error for a secret that does not belong to this emulator, or no longer does."""
        when = self.replaced(secret)
        if when is None:
            return _unauthenticated(f"The {what} does not belong to this emulator.", registry=registry)
        return _unauthenticated(
            f"The {what} was replaced at {when}, when the emulator started again: while it did not run, "
            "another program could have used its port. In a shell, set the variables again with "
            '`eval "$(vertex-emulator env)"`.',
            registry=registry,
        )


def plain_bucket(path: str) -> str:
    """Decode letters, digits and "-._~" of the first segment after the secret, which may be a bucket.

    RFC 3986, section 6.2.2.2: such a path is the same. Rust's clients encode the hyphens of a bucket's name.
    """
    if "%" not in path or (found := _PREFIXED_SEGMENT.fullmatch(path)) is None:
        return path
    segment = _UNRESERVED.sub(lambda match: chr(int(match[1], 16)), found[2])
    return f"{found[1] or ''}/{segment}{found[3] or ''}"


def is_registry(path: str) -> bool:
    """Return whether a path belongs to the container registry."""
    return _REGISTRY.fullmatch(path) is not None


def check_content_type(
    authenticated: AuthenticatedRequest, headers: Mapping[str, str], *, has_body: bool
) -> bool:
    """Return whether the body is a JSON document. Objects, blobs and manifests may have any type.

    Raises `HttpError` 415 for a document of another type.
    """
    path = authenticated.path
    if not has_body or _OBJECT_DATA.fullmatch(path) or is_registry(path):
        return False
    if _XML_PATH_OUTSIDE_SERVICES.fullmatch(path) or (
        authenticated.storage_only and not _STORAGE_PATH.fullmatch(path)
    ):
        return False
    given = headers.get("content-type", "")
    if path == EXCHANGE:
        return False
    if path == IMPORT:
        if given != "application/x-tar":
            raise HttpError(415, "", f"The Content-Type must be application/x-tar, not {given!r}.")
        return False
    if given.partition(";")[0].strip().lower() != "application/json":
        raise HttpError(
            415, "", f"The Content-Type must be application/json, not {given or 'missing'!r}. Send JSON."
        )
    return True


def _check_host(headers: Headers) -> str:
    host = headers.get("host")
    if host is None or not _LOCAL_HOST.fullmatch(host):
        raise HttpError(
            403,
            "",
            f"The Host header is {host!r}. The emulator accepts 127.0.0.1 and localhost only, to keep web "
            "pages out. Use the address that the emulator printed.",
        )
    return host


def _check_browser(headers: Headers) -> None:
    if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
        raise HttpError(
            403,
            "",
            "The request comes from a web page. The emulator runs commands, so it answers programs only. "
            "Use a client library, gcloud, curl or the command vertex-emulator.",
        )


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode("utf-8"))


def _password(credentials: str) -> str:
    """Return the token in credentials of the scheme Basic. Raises `HttpError` 401."""
    try:
        user, _, password = (
            base64.b64decode(credentials.strip(), validate=True).decode("utf-8").partition(":")
        )
    except ValueError as error:
        raise _unauthenticated("The credentials are not USER:PASSWORD in base64.", registry=True) from error
    if not _BASIC_USER.fullmatch(user):
        raise _unauthenticated(
            "The user must be oauth2accesstoken, with the emulator's token as the password.", registry=True
        )
    return password


def _unauthenticated(why: str, *, registry: bool = False) -> HttpError:
    scheme = "Basic" if registry else "Bearer"
    return HttpError(
        401,
        "",
        f"{why} The token is in the file 'token' in the emulator's data folder; "
        "`vertex-emulator env` prints the settings for clients.",
        headers={"WWW-Authenticate": f'{scheme} realm="vertex-training emulator"'},
    )


_KEPT = 16
"""Number of replaced tokens that are recognised."""

_PORT = "token_port"
_REPLACED = "replaced_secrets"


def token_for(folder: DataFolder, database: Database, *, port: int, live_jobs: int) -> str:
    """Return the token for a start that listens at `port`. Only the daemon calls this, under the lock.

    Raises `DataFolderError`.
    """
    last = _setting(database, _PORT)
    if live_jobs and last == str(port):
        return data_folder.ensure_token(folder)
    old = data_folder.read_token(folder)
    if old is not None:
        kept = [*json.loads(_setting(database, _REPLACED) or "[]"), [now(), *map(_digest, _secrets(old))]]
        _set(database, _REPLACED, json.dumps(kept[-_KEPT:]))
    new = secrets.token_urlsafe(32)
    data_folder.write_private(folder.token, new.encode("ascii"))
    _set(database, _PORT, str(port))
    return new


def replaced_secrets(database: Database) -> Callable[[str], str | None]:
    """Return a function from a secret to the time when it was replaced, or None for any other text."""
    times = {
        digest: time
        for time, *digests in json.loads(_setting(database, _REPLACED) or "[]")
        for digest in digests
    }
    return lambda secret: times.get(_digest(secret))


def _secrets(token: str) -> tuple[str, ...]:
    return (
        token,
        data_folder.service_token(token),
        data_folder.storage_secret(token),
        data_folder.metadata_secret(token),
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _setting(database: Database, name: str) -> str | None:
    row = database.row("SELECT value FROM settings WHERE name = ?", (name,))
    return None if row is None else str(row["value"])


def _set(database: Database, name: str, value: str) -> None:
    database.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )
