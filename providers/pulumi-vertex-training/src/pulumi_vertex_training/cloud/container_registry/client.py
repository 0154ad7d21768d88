"""Manifests, tags and blobs of container registries: the OCI distribution API 1.1.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`. NotFound only results from an answer
in the registry's own form: MANIFEST_UNKNOWN, NAME_UNKNOWN, BLOB_UNKNOWN.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud import errors, imports, retry
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor
from pulumi_vertex_training.cloud.container_registry.http import (
    LARGEST_CONFIG,
    LARGEST_DOCUMENT,
    LARGEST_MANIFEST,
    PULL,
    PUSH,
    TooLargeError,
    blocks,
    load,
    registry_http,
)
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

if TYPE_CHECKING:
    from requests import Response

MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MOST_TAG_PAGES = 1000
_LARGEST_TAG_PAGE = 16 << 20
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_OF_CODE: Mapping[int, type[errors.CloudError]] = {
    400: errors.InvalidArgument,
    401: errors.Unauthenticated,
    403: errors.PermissionDenied,
    405: errors.Unimplemented,
    409: errors.FailedPrecondition,
    412: errors.Conflict,
    413: errors.InvalidArgument,
    416: errors.InvalidArgument,
    429: errors.ResourceExhausted,
    501: errors.Unimplemented,
}
_MISSING = ("NAME_UNKNOWN", "MANIFEST_UNKNOWN", "BLOB_UNKNOWN", "BLOB_UPLOAD_UNKNOWN", "NOT_FOUND")
_DOWNLOAD_TRIES = 4


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A manifest or an index as stored in the registry, byte for byte."""

    digest: str
    media_type: str
    content: bytes

    @property
    def is_index(self) -> bool:
        return "index" in self.media_type or "manifest.list" in self.media_type


def manifest(endpoint: Endpoint, name: ImageName) -> Manifest:
    """Return the manifest of a tag or digest. Raises NotFound, and DataLoss if its digest does not match."""
    action = f"read image {name}"
    headers = {"Accept": ", ".join(MANIFEST_TYPES)}
    response = ask(
        endpoint,
        name,
        "GET",
        f"manifests/{name.reference}",
        action=action,
        headers=headers,
        most=LARGEST_MANIFEST,
    )
    content = response.content
    digest = digest_of(content)
    if name.digest and name.digest != digest:
        raise errors.DataLoss(
            f"Could not {action} ({endpoint}): the digest of {name.host}'s answer is {digest}. Run the same "
            "command again, and check the proxy settings.",
            resource=str(name),
            endpoint=endpoint,
        )
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
    return Manifest(digest=digest, media_type=media_type, content=content)


def find_manifest(endpoint: Endpoint, name: ImageName) -> Manifest | None:
    """Return the manifest, or None if the registry reports that it does not exist."""
    try:
        return manifest(endpoint, name)
    except errors.NotFound:
        return None


def digest_at(endpoint: Endpoint, name: ImageName) -> str | None:
    """Return the digest of a tag without reading the manifest, or None if the tag does not exist."""
    headers = {"Accept": ", ".join(MANIFEST_TYPES)}
    response = ask(
        endpoint,
        name,
        "HEAD",
        f"manifests/{name.reference}",
        action=f"look up image {name}",
        headers=headers,
        also=(404,),
    )
    if response.status_code == 404:
        return None
    digest = response.headers.get("Docker-Content-Digest")
    return digest or manifest(endpoint, name).digest


def put_manifest(endpoint: Endpoint, name: ImageName, found: Manifest) -> None:
    """Store a manifest under the name's tag or digest. Raises NotFound for the repository."""
    ask(
        endpoint,
        name,
        "PUT",
        f"manifests/{name.reference}",
        action=f"push image {name}",
        actions=PUSH,
        headers={"Content-Type": found.media_type},
        body=lambda: found.content,
        if_missing=f"Create the repository {name.repository.rpartition('/')[0]} first.",
    )


def delete(endpoint: Endpoint, name: ImageName) -> bool:
    """Delete a tag, or the manifest of a digest. Return False if it did not exist."""
    try:
        ask(
            endpoint,
            name,
            "DELETE",
            f"manifests/{name.reference}",
            action=f"delete image {name}",
            actions=PUSH,
        )
    except errors.NotFound:
        return False
    return True


def tags(endpoint: Endpoint, name: ImageName) -> tuple[str, ...]:
    """Return the sorted tags of the image's repository. Raises NotFound, UnexpectedAnswer."""
    found: set[str] = set()
    tail = "tags/list?n=1000"
    action = f"list the tags of {name.repository}"
    for _ in range(_MOST_TAG_PAGES):
        response = ask(endpoint, name, "GET", tail, action=action, most=_LARGEST_TAG_PAGE)
        listed = _document(response, endpoint, name).get("tags")
        found.update(each for each in listed or () if isinstance(each, str))
        tail = response.links.get("next", {}).get("url", "")
        if not tail:
            return tuple(sorted(found))
    raise errors.UnexpectedAnswer(
        f"Could not {action} ({endpoint}): the list has more than {_MOST_TAG_PAGES} pages. Check the image's "
        "name and the proxy settings.",
        resource=str(name),
        endpoint=endpoint,
    )


def has_blob(endpoint: Endpoint, name: ImageName, digest: str) -> bool:
    """Return whether the image's repository has a blob."""
    response = ask(
        endpoint,
        name,
        "HEAD",
        f"blobs/{digest}",
        action=f"look up {digest} in {name.repository}",
        also=(404,),
    )
    return response.status_code == 200


def read_blob(endpoint: Endpoint, name: ImageName, blob: Descriptor) -> bytes:
    """Return a small blob, such as a configuration. Raises NotFound, DataLoss, UnexpectedAnswer."""
    action = f"read {blob.digest} of {name.repository}"
    most = min(blob.size, LARGEST_CONFIG)
    content = ask(endpoint, name, "GET", f"blobs/{blob.digest}", action=action, most=most).content
    if digest_of(content) != blob.digest:
        raise _damaged(endpoint, name, action)
    return content


def download_blob(endpoint: Endpoint, name: ImageName, blob: Descriptor, target: Path) -> None:
    """Write a blob to a file in constant memory; resume after a broken connection.

    The file is complete when this returns, and never larger than the blob's descriptor says. Raises NotFound,
    DataLoss, UnexpectedAnswer.
    """
    action = f"download {blob.digest} of {name.repository}"
    for tries_left in reversed(range(_DOWNLOAD_TRIES)):
        there = target.stat().st_size if target.exists() else 0
        headers = {"Range": f"bytes={there}-"} if there else {}
        response = ask(
            endpoint,
            name,
            "GET",
            f"blobs/{blob.digest}",
            action=action,
            headers=headers,
            also=(206, 416),
            stream=True,
        )
        try:
            with _bounded(endpoint, name, action), translated(endpoint, action), response:
                if response.status_code != 416:
                    resumed = response.status_code == 206
                    most = blob.size - (there if resumed else 0)
                    with target.open("ab" if resumed else "wb") as file:
                        for block in blocks(response, most=most, size=1 << 20):
                            file.write(block)
        except errors.UnexpectedAnswer:
            target.unlink(missing_ok=True)
            raise
        except errors.Unavailable:
            if not tries_left:
                raise
            continue
        if file_digest(target) == blob.digest:
            return
        target.unlink()
    raise _damaged(endpoint, name, action)


@contextmanager
def _bounded(endpoint: Endpoint, name: ImageName, action: str) -> Iterator[None]:
    """Report an answer above its bound as UnexpectedAnswer."""
    try:
        yield
    except TooLargeError as error:
        raise errors.UnexpectedAnswer(
            f"Could not {action} ({endpoint}): {name.host} is not read any further, because {error}. "
            "Check the image's name and the proxy settings.",
            resource=str(name),
            endpoint=endpoint,
        ) from error


def ask(
    endpoint: Endpoint,
    name: ImageName,
    method: str,
    tail: str,
    *,
    action: str,
    actions: str = PULL,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    body: Callable[[], Any] | None = None,
    also: tuple[int, ...] = (),
    stream: bool = False,
    most: int = LARGEST_DOCUMENT,
    once: bool = False,
    if_missing: str = "",
) -> Response:
    """Return the answer to a request about an image's repository.

    It is a success, or its status is in `also`. `tail` is relative to the repository, or a location that the
    registry returned. At most `most` bytes of the answer are read, none with `stream`. With `once`, there are
    no retries.
    """
    imports.load_transport()
    from google.api_core.exceptions import RetryError
    from requests import HTTPError

    http = registry_http(endpoint)
    url = tail if tail.startswith(("/", "http:", "https:")) else http.url(name, tail)

    def attempt() -> Response:
        response = http.send(
            name,
            method,
            url,
            actions=actions,
            headers=headers,
            query=query,
            body=body,
            stream=stream,
            most=most,
            transfers=stream or body is not None,
        )
        if stream and response.status_code >= 300 and response.status_code not in also:
            load(response, most=LARGEST_DOCUMENT)
        if response.status_code in _TRANSIENT:
            raise HTTPError(response=response)
        return response

    with _bounded(endpoint, name, action), translated(endpoint, action):
        try:
            response = attempt() if once else retry.for_idempotent(endpoint)(attempt)()
        except (HTTPError, RetryError) as error:
            cause = error.cause if isinstance(error, RetryError) else error
            refused = getattr(cause, "response", None)
            if refused is None:
                raise
            raise _refusal(refused, endpoint, name, action, if_missing) from error
    if not 200 <= response.status_code < 300 and response.status_code not in also:
        raise _refusal(response, endpoint, name, action, if_missing)
    return response


def digest_of(content: bytes) -> str:
    """Return the digest of content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def file_digest(path: Path) -> str:
    """Return the digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def _refusal(
    response: Response, endpoint: Endpoint, name: ImageName, action: str, if_missing: str
) -> errors.CloudError:
    """Translate the registry's error to one of `errors`."""
    code = response.status_code
    reason, text = _reported_error(response) or ("", "")
    if code == 404:
        kind: type[errors.CloudError] = errors.NotFound if reason in _MISSING else errors.UnexpectedAnswer
    else:
        kind = _OF_CODE.get(code) or (errors.Unavailable if code >= 500 else errors.UnexpectedAnswer)
    if kind is errors.UnexpectedAnswer:
        text = f"answered {code}, but not in the format of a registry"
    sentence = text.rstrip(".") or f"HTTP {code}"
    step = _next_step(kind, endpoint, name) if kind is not errors.NotFound else if_missing
    message = f"Could not {action} ({endpoint}): {sentence}. {step}".rstrip()
    return kind(message, code=code, resource=str(name), endpoint=endpoint, own_words=f"{sentence}.")


def _reported_error(response: Response) -> tuple[str, str] | None:
    """Return code and message of the first error in the format of the OCI specification, or None."""
    try:
        document = json.loads(response.content)
        first = document["errors"][0]
        return str(first["code"]), " ".join(str(first.get("message") or first["code"]).split())
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None


def _next_step(kind: type[errors.CloudError], endpoint: Endpoint, name: ImageName) -> str:
    if issubclass(kind, errors.Unauthenticated):
        if endpoint.is_emulator:
            return (
                "Each start of the emulator may renew its token: run "
                '`eval "$(vertex-training emulator env)"`, and try again.'
            )
        if name.is_google_host:
            return "Run `gcloud auth application-default login`."
        return f"Only public images of {name.host} can be used; copy it to a repository of yours."
    if issubclass(kind, errors.PermissionDenied):
        if endpoint.is_emulator or not name.is_google_host:
            return ""
        return (
            "The account needs roles/artifactregistry.reader on the repository to pull, and "
            "roles/artifactregistry.writer to push."
        )
    if issubclass(kind, errors.UnexpectedAnswer):
        return "Check the image's name and the proxy settings."
    return "Run the same command again." if issubclass(kind, errors.Unavailable) else ""


def _damaged(endpoint: Endpoint, name: ImageName, action: str) -> errors.DataLoss:
    return errors.DataLoss(
        f"Could not {action} ({endpoint}): the data have a different digest. Run the same command again.",
        resource=str(name),
        endpoint=endpoint,
    )


def _document(response: Response, endpoint: Endpoint, name: ImageName) -> dict[str, Any]:
    with translated(endpoint, f"read the answer of {name.host}"):
        try:
            document = response.json()
        except RecursionError:
            document = None
    return document if isinstance(document, dict) else {}
