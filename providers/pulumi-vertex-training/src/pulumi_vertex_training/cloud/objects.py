"""Objects of Cloud Storage: unchanged content is not sent again, and no partial file is ever visible.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`, and OSError for the local file.
"""

from __future__ import annotations

import base64
import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, rest, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Conflict, InvalidArgument, NotFound
from pulumi_vertex_training.cloud.translation import translated

STAGED_KEY = "vertex-training-staged"
"""Key in the custom metadata of every object that this provider staged. The value is the resource's key."""

NO_KEY = "1"
"""Value of `STAGED_KEY` for an object of a resource without a key."""

SHARED_KEY = "vertex-training-shared"
"""Key in the custom metadata of objects that were staged more than once, or promoted."""

PROMOTED = "promoted"
"""Value of `SHARED_KEY` for a promoted object."""

SHA256_KEY = "sha256"
"""The key of an object's custom metadata for the hex digest of its content."""

Source = Path | bytes | BinaryIO
"""Content to send; a stream must be seekable and is sent from its beginning."""


@dataclass(frozen=True, kw_only=True)
class ObjectRecord:
    """An object as reported by the service.

    `crc32c` and `md5` are base64, as in the API; a composite object has no md5. `metadata` has the custom
    pairs.
    """

    bucket: str
    name: str
    size: int
    generation: int
    crc32c: str | None = None
    md5: str | None = None
    content_type: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    metageneration: int = 0

    @property
    def uri(self) -> str:
        return f"gs://{self.bucket}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class EnsuredObject:
    """The requested object, and whether its content had to be sent."""

    record: ObjectRecord
    sent: bool


def get(endpoint: Endpoint, bucket: str, name: str) -> ObjectRecord:
    """Return an object's metadata. Raises NotFound for the object as for its bucket."""
    with translated(endpoint, f"read gs://{bucket}/{name}"):
        return _record(rest.call(endpoint, "GET", _url(endpoint, bucket, name)))


def find(endpoint: Endpoint, bucket: str, name: str) -> ObjectRecord | None:
    """Return an object's metadata, or None if the object or its bucket does not exist."""
    try:
        return get(endpoint, bucket, name)
    except NotFound:
        return None


def bucket_location(endpoint: Endpoint, bucket: str) -> str:
    """Return the location of a bucket, such as `US-CENTRAL1`. Raises NotFound."""
    with translated(endpoint, f"read bucket {bucket}"):
        return str(rest.call(endpoint, "GET", _url(endpoint, bucket).removesuffix("/o")).get("location", ""))


def list_objects(endpoint: Endpoint, bucket: str, *, prefix: str = "") -> Iterator[ObjectRecord]:
    """Yield the live objects whose names begin with `prefix`, by name. Raises NotFound for the bucket."""
    with translated(endpoint, f"list gs://{bucket}/{prefix}"):
        for page in rest.pages(endpoint, _url(endpoint, bucket), query={"prefix": prefix or None}):
            for item in page.get("items", []):
                yield _record(item)


def add_metadata(endpoint: Endpoint, bucket: str, name: str, pairs: Mapping[str, str]) -> ObjectRecord:
    """Add or replace custom metadata of an object; other pairs are kept. Raises NotFound."""
    with translated(endpoint, f"mark gs://{bucket}/{name}"):
        return _record(
            rest.call(endpoint, "PATCH", _url(endpoint, bucket, name), body={"metadata": dict(pairs)})
        )


def delete(
    endpoint: Endpoint,
    bucket: str,
    name: str,
    *,
    generation: int | None = None,
    if_metageneration_match: int | None = None,
) -> None:
    """Delete an object.

    Raises NotFound if it does not exist, Conflict if its metageneration is not `if_metageneration_match`.
    """
    query = {"generation": generation, "ifMetagenerationMatch": if_metageneration_match}
    with translated(endpoint, f"delete gs://{bucket}/{name}"):
        rest.call(endpoint, "DELETE", _url(endpoint, bucket, name), query=query)


def upload(
    endpoint: Endpoint,
    bucket: str,
    name: str,
    source: Source,
    *,
    content_type: str = "application/octet-stream",
    sha256: str | None = None,
    metadata: Mapping[str, str] | None = None,
    if_generation_match: int | None = None,
) -> ObjectRecord:
    """Send content, from 8 MiB on in a resumable upload. The service checks it against its crc32c.

    `sha256` is a hex digest that is stored with the object. With `if_generation_match`, only that generation
    is replaced; 0 means that the object must not exist. Raises Conflict if the generation differs, possibly
    because of this very upload if its answer was lost, and NotFound for the bucket.
    """
    kept = {**(metadata or {}), **({SHA256_KEY: sha256} if sha256 else {})}
    with translated(endpoint, f"upload gs://{bucket}/{name}", if_missing="Create the bucket first."):
        blob = clients.storage_client(endpoint).bucket(bucket).blob(name)
        blob.metadata = kept or None
        with _opened(source) as (stream, size):
            blob.upload_from_file(
                stream,
                rewind=True,
                size=size,
                content_type=content_type,
                if_generation_match=if_generation_match,
                checksum="crc32c",
                timeout=endpoint.timeouts.content,
                retry=retry.for_idempotent(endpoint),
            )
        return ObjectRecord(
            bucket=bucket,
            name=name,
            size=int(blob.size),
            generation=int(blob.generation),
            crc32c=blob.crc32c,
            md5=blob.md5_hash,
            content_type=blob.content_type,
            metadata=dict(blob.metadata or {}),
            metageneration=int(blob.metageneration or 0),
        )


def put_document(
    endpoint: Endpoint, bucket: str, name: str, document: Mapping[str, Any], *, if_generation_match: int
) -> None:
    """Write a small JSON document, without Google's library.

    Its object must have that generation; 0 means that it must not exist. Raises Conflict as `upload` does,
    and NotFound for the bucket.
    """
    url = f"{clients.storage_url(endpoint)}/upload/storage/v1/b/{quote(bucket, safe='')}/o"
    query: rest.Query = {"uploadType": "media", "name": name, "ifGenerationMatch": if_generation_match}
    with translated(endpoint, f"upload gs://{bucket}/{name}", if_missing="Create the bucket first."):
        rest.call(endpoint, "POST", url, query=query, body=document)


def copy(
    endpoint: Endpoint,
    source: ObjectRecord,
    name: str,
    *,
    bucket: str | None = None,
    metadata: Mapping[str, str] | None = None,
    if_generation_match: int | None = None,
) -> ObjectRecord:
    """Copy an object within its bucket, or to another one; the service does it, and no content is sent.

    The copy has the given custom metadata, not its source's. Raises NotFound if the source is no longer
    as it was read, and Conflict as `upload` does.
    """
    to = bucket or source.bucket
    target = f"/b/{quote(to, safe='')}/o/{quote(name, safe='')}"
    url = f"{_url(endpoint, source.bucket, source.name)}/rewriteTo{target}"
    body = {"contentType": source.content_type, "metadata": dict(metadata or {})}
    query = {"sourceGeneration": source.generation, "ifGenerationMatch": if_generation_match}
    with translated(endpoint, f"copy {source.uri} to gs://{to}/{name}"):
        token: str | None = None
        while True:
            answer = rest.call(endpoint, "POST", url, query={**query, "rewriteToken": token}, body=body)
            if answer.get("done", True):
                return _record(answer["resource"])
            token = str(answer["rewriteToken"])


def ensure(
    endpoint: Endpoint,
    bucket: str,
    name: str,
    source: Source,
    *,
    content_type: str = "application/octet-stream",
    sha256: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> EnsuredObject:
    """Ensure that the object has this content; nothing is sent if it already has.

    Of two concurrent callers, one upload wins. Raises Conflict if the object keeps changing, NotFound for the
    bucket.
    """
    with _opened(source) as (stream, size):
        crc32c = _crc32c(stream)
        for last_try in (False, True):
            there = find(endpoint, bucket, name)
            if there is not None and _same(there, size=size, crc32c=crc32c, sha256=sha256):
                return EnsuredObject(record=there, sent=False)
            try:
                record = upload(
                    endpoint,
                    bucket,
                    name,
                    stream,
                    content_type=content_type,
                    sha256=sha256,
                    metadata=metadata,
                    if_generation_match=there.generation if there else 0,
                )
                return EnsuredObject(record=record, sent=True)
            except Conflict:
                if last_try:
                    raise
    raise AssertionError("unreachable")


def download(endpoint: Endpoint, bucket: str, name: str, target: Path) -> None:
    """Write an object's content to a file, which appears only once it is complete and its checksum is right.

    Raises NotFound, DataLoss.
    """
    with _whole_file(target) as stream, translated(endpoint, f"download gs://{bucket}/{name}"):
        _download(endpoint, bucket, name, stream)


_PARTIAL = 206

LARGEST_DOCUMENT = 4 << 20
"""Limit in bytes of an object that is read into memory: training code writes these, of any size."""


class _BoundedBytes(io.BytesIO):
    """A buffer for one document."""

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > LARGEST_DOCUMENT:
            raise OverflowError
        return super().write(data)


def read(endpoint: Endpoint, bucket: str, name: str) -> bytes:
    """Return the content of a small object. Raises NotFound, DataLoss, and InvalidArgument if it is large."""
    action = f"download gs://{bucket}/{name}"
    with translated(endpoint, action):
        stream = _BoundedBytes()
        try:
            _download(endpoint, bucket, name, stream)
        except OverflowError:
            raise InvalidArgument(
                f"Could not {action} ({endpoint}): it has more than {LARGEST_DOCUMENT >> 20} MiB, which is "
                "too large for a document. Write a smaller one.",
                resource=f"gs://{bucket}/{name}",
                endpoint=endpoint,
            ) from None
        return stream.getvalue()


def read_range(endpoint: Endpoint, bucket: str, name: str, *, start: int, most: int) -> bytes:
    """Return at most that many bytes of an object, from `start`, which is before its end. Raises NotFound."""
    with translated(endpoint, f"read gs://{bucket}/{name}"):
        response = clients.session(endpoint).get(
            _url(endpoint, bucket, name),
            params={"alt": "media"},
            headers={"Accept-Encoding": "gzip", "Range": f"bytes={start}-{start + most - 1}"},
            timeout=endpoint.timeouts.content,
        )
        if response.status_code != _PARTIAL:
            raise rest.refusal(response)
        content: bytes = response.content
        return content


def _download(endpoint: Endpoint, bucket: str, name: str, stream: BinaryIO) -> None:
    blob = clients.storage_client(endpoint).bucket(bucket).blob(name)
    # raw_download keeps the stored bytes, also for objects with Content-Encoding gzip.
    blob.download_to_file(
        stream,
        raw_download=True,
        checksum="crc32c",
        timeout=endpoint.timeouts.content,
        retry=retry.for_idempotent(endpoint),
    )


def _same(there: ObjectRecord, *, size: int, crc32c: str, sha256: str | None) -> bool:
    known = there.metadata.get(SHA256_KEY)
    return there.size == size and there.crc32c == crc32c and (sha256 is None or known in (None, sha256))


def _crc32c(stream: BinaryIO) -> str:
    """Return the checksum as in the API: base64 of four bytes, big-endian."""
    import google_crc32c

    stream.seek(0)
    checksum: Any = google_crc32c.Checksum()  # type: ignore[no-untyped-call]
    while chunk := stream.read(1 << 20):
        checksum.update(chunk)
    stream.seek(0)
    return base64.b64encode(checksum.digest()).decode("ascii")


@contextmanager
def _opened(source: Source) -> Iterator[tuple[BinaryIO, int]]:
    """Open the source at its beginning; yield the stream and its size in bytes."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    yield stream, size


@contextmanager
def _whole_file(target: Path) -> Iterator[BinaryIO]:
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _url(endpoint: Endpoint, bucket: str, name: str | None = None) -> str:
    url = f"{clients.storage_url(endpoint)}/storage/v1/b/{quote(bucket, safe='')}/o"
    return url if name is None else f"{url}/{quote(name, safe='')}"


def _record(wire: Mapping[str, Any]) -> ObjectRecord:
    return ObjectRecord(
        bucket=str(wire["bucket"]),
        name=str(wire["name"]),
        size=int(wire.get("size", 0)),
        generation=int(wire["generation"]),
        crc32c=wire.get("crc32c"),
        md5=wire.get("md5Hash"),
        content_type=wire.get("contentType"),
        metadata=dict(wire.get("metadata", {})),
        metageneration=int(wire.get("metageneration", 0)),
    )
