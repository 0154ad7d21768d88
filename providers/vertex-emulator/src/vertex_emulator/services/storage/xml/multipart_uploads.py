"""Multipart uploads of the XML API, whose parts arrive in any order ("XML API multipart uploads").

An upload belongs to one generation of a bucket, and is removed with it.
"""

from __future__ import annotations

import base64
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.server.http.messages import Request, Response
from vertex_emulator.services.storage.disk import checksums
from vertex_emulator.services.storage.disk.checksums import Known
from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.records import FileState, StoredObject
from vertex_emulator.services.storage.names import check_object_name
from vertex_emulator.services.storage.uploads.calls import BLOCK, blocks
from vertex_emulator.services.storage.uploads.incoming import Incoming
from vertex_emulator.services.storage.xml import documents, objects
from vertex_emulator.services.storage.xml.documents import (
    XML,
    XmlError,
    element,
    invalid_argument,
    text,
    written,
)
from vertex_emulator.services.storage.xml.objects import target_of
from vertex_emulator.services.storage.xml.parts import MAX_PARTS, Part, Parts, Upload

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
MIN_PART_SIZE = 5 * 1024 * 1024
"""The least number of bytes of every part except the last."""

_MAX_LISTED = 1000
_LOCKS = 64
_CRC32C_OF_NOTHING = "AAAAAA=="
"""The CRC32C of no bytes."""


@dataclass(frozen=True)
class _ListedPart:
    """One entry of the list that completes an upload."""

    number: int
    etag: str


class MultipartUploads:
    """The handlers. The names of bucket and object are decoded already."""

    def __init__(self, object_store: ObjectStore, parts: Parts) -> None:
        self._object_store = object_store
        self._parts = parts
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))

    def begin(self, request: Request, bucket: str, name: str) -> Response:
        target = target_of(request, bucket, name)
        upload = Upload(
            id=secrets.token_urlsafe(48),
            bucket=bucket,
            bucket_generation=self._object_store.store.bucket(bucket).generation,
            name=name,
            started=self._object_store.store.clock.now(),
            settings=target.settings,
        )
        self._parts.begin(upload)
        return _answer(
            element(
                "InitiateMultipartUploadResult",
                text("Bucket", bucket),
                text("Key", name),
                text("UploadId", upload.id),
                namespace=NAMESPACE,
            )
        )

    def put_part(self, request: Request, bucket: str, name: str) -> Response:
        number = objects.number(request, "partNumber", default=0, most=1 << 60)
        if not 1 <= number <= MAX_PARTS:
            raise invalid_argument(f"partNumber must be from 1 to {MAX_PARTS}.")
        self._unfinished(request, bucket, name)
        given = request.headers.get("content-md5")
        expected = (
            checksums.from_resource(None, given),
            checksums.from_header(request.headers),
        )
        with Incoming(self._parts.new_file()) as incoming:
            for block in blocks(request):
                incoming.write(block)
            incoming.finish()
            checksums.verify(incoming.sums, *expected)
            part = Part(
                number=number,
                file=incoming.path.name,
                size=incoming.sums.size,
                md5=base64.b64decode(incoming.sums.md5).hex(),
                crc32c=incoming.sums.crc32c,
                modified=self._object_store.store.clock.now(),
            )
            with self._held(request):
                # The upload may have been completed or aborted meanwhile.
                if not self._parts.put(self._unfinished(request, bucket, name).id, part):
                    raise _no_upload()
                incoming.taken = True
        return Response(
            200,
            b"",
            "text/html; charset=UTF-8",
            {"ETag": f'"{part.md5}"', "X-Goog-Hash": objects.hashes(part.crc32c, incoming.sums.md5)},
        )

    def list_parts(self, request: Request, bucket: str, name: str) -> Response:
        limit = objects.number(request, "max-parts", default=_MAX_LISTED, most=_MAX_LISTED) or _MAX_LISTED
        marker = objects.number(request, "part-number-marker", default=0, most=MAX_PARTS)
        upload = self._unfinished(request, bucket, name)
        parts = self._parts.parts(upload.id, after=marker, limit=limit + 1)
        more, parts = len(parts) > limit, parts[:limit]
        next_marker = [text("NextPartNumberMarker", parts[-1].number)] if parts else []
        return _answer(
            element(
                "ListPartsResult",
                text("Bucket", bucket),
                text("Key", name),
                text("UploadId", upload.id),
                text("StorageClass", upload.settings.get("storageClass", "STANDARD")),
                text("PartNumberMarker", marker),
                *next_marker,
                text("MaxParts", limit),
                text("IsTruncated", more),
                *(
                    element(
                        "Part",
                        text("PartNumber", part.number),
                        text("LastModified", part.modified),
                        text("ETag", f'"{part.md5}"'),
                        text("Size", part.size),
                    )
                    for part in parts
                ),
                namespace=NAMESPACE,
            )
        )

    def list_uploads(self, request: Request, bucket: str) -> Response:
        self._object_store.store.bucket(bucket)
        limit = objects.number(request, "max-uploads", default=_MAX_LISTED, most=_MAX_LISTED) or _MAX_LISTED
        prefix = request.parameter("prefix") or ""
        if request.parameter("delimiter"):
            raise invalid_argument("delimiter is not supported for uploads. Leave it out.")
        key, marker = request.parameter("key-marker") or "", request.parameter("upload-id-marker") or ""
        # Without the id of an upload, the list begins after all uploads of that name.
        after = (key, marker or ("\U0010ffff" if key else ""))
        uploads = self._parts.uploads(bucket, prefix=prefix, after=after, limit=limit + 1)
        more, uploads = len(uploads) > limit, uploads[:limit]
        next_marker = (
            [text("NextKeyMarker", uploads[-1].name), text("NextUploadIdMarker", uploads[-1].id)]
            if more
            else []
        )
        return _answer(
            element(
                "ListMultipartUploadsResult",
                text("Bucket", bucket),
                text("KeyMarker", key),
                text("UploadIdMarker", marker),
                *next_marker,
                text("Prefix", prefix),
                text("MaxUploads", limit),
                text("IsTruncated", more),
                *(
                    element(
                        "Upload",
                        text("Key", upload.name),
                        text("UploadId", upload.id),
                        text("StorageClass", upload.settings.get("storageClass", "STANDARD")),
                        text("Initiated", upload.started),
                    )
                    for upload in uploads
                ),
                namespace=NAMESPACE,
            )
        )

    def abort(self, request: Request, bucket: str, name: str) -> Response:
        with self._held(request):
            self._parts.abort(self._unfinished(request, bucket, name).id)
        return Response(204)

    def complete(self, request: Request, bucket: str, name: str) -> Response:
        """Concatenate the parts that the body lists. The call is idempotent."""
        named = _named(request)
        with self._held(request):
            upload = self._find(request, bucket, name)
            if upload.generation is not None:
                stored = self._object_store.store.generation(bucket, name, upload.generation)
                if stored is None:
                    raise _no_upload()
            else:
                stored = self._join(request, upload, self._chosen(upload, named))
        return _answer(
            element(
                "CompleteMultipartUploadResult",
                text("Location", f"{request.base_url}{request.path}"),
                text("Bucket", bucket),
                text("Key", name),
                text("ETag", objects.etag(stored)),
                namespace=NAMESPACE,
            ),
            {"X-Goog-Generation": str(stored.generation), "X-Goog-Hash": objects.hashes(stored.crc32c, None)},
        )

    def _join(self, request: Request, upload: Upload, chosen: list[Part]) -> StoredObject:
        sums = _sums(chosen)
        checksums.verify(sums, checksums.from_header(request.headers))
        path = self._object_store.files.new_incoming()
        try:
            state = self._concatenated(chosen, path)
            stored = self._object_store.put(
                upload.bucket,
                upload.name,
                Content(path=path, state=state, sums=sums),
                settings=upload.settings,
                preconditions=objects.preconditions(request.headers),
                finish=lambda generation: self._parts.finish(upload.id, generation),
            )
        finally:
            path.unlink(missing_ok=True)  # a stored object's file has been moved already
        self._parts.drop(upload.id)
        return stored

    def _concatenated(self, chosen: list[Part], path: Path) -> FileState:
        """Write the parts into one new file. Raises `XmlError` 404 if they were removed meanwhile."""
        with path.open("xb", buffering=0) as whole:
            for part in chosen:
                try:
                    file = self._parts.path(part.file).open("rb", buffering=0)
                except FileNotFoundError as error:
                    raise _no_upload() from error
                with file:
                    shutil.copyfileobj(file, whole, BLOCK)
            return state_of(whole)

    def _chosen(self, upload: Upload, named: list[_ListedPart]) -> list[Part]:
        """Return the parts that the list names. Raises `XmlError` 400."""
        there = {part.number: part for part in self._parts.parts(upload.id)}
        chosen: list[Part] = []
        for entry in named:
            if chosen and entry.number <= chosen[-1].number:
                raise XmlError(
                    400, "InvalidPartOrder", "The list of parts was not in ascending order of their numbers."
                )
            part = there.get(entry.number)
            if part is None or part.md5 != entry.etag:
                raise XmlError(
                    400,
                    "InvalidPart",
                    "One or more of the specified parts could not be found, or its ETag did not match.",
                    details=f"Part {entry.number} with ETag {entry.etag}",
                )
            chosen.append(part)
        for part in chosen[:-1]:
            if part.size < MIN_PART_SIZE:
                raise XmlError(
                    400,
                    "EntityTooSmall",
                    f"Part {part.number} has {part.size} bytes; all but the last need {MIN_PART_SIZE}.",
                )
        return chosen

    @contextmanager
    def _held(self, request: Request) -> Iterator[None]:
        with self._locks[hash(request.parameter("uploadId")) % _LOCKS]:
            yield

    def _unfinished(self, request: Request, bucket: str, name: str) -> Upload:
        upload = self._find(request, bucket, name)
        if upload.generation is not None:
            raise _no_upload()
        return upload

    def _find(self, request: Request, bucket: str, name: str) -> Upload:
        check_object_name(name)
        generation = self._object_store.store.bucket(bucket).generation
        upload = self._parts.find(request.parameter("uploadId") or "")
        if upload is None or (upload.bucket, upload.name, upload.bucket_generation) != (
            bucket,
            name,
            generation,
        ):
            raise _no_upload()
        return upload


def _sums(chosen: list[Part]) -> Known:
    """Combine the checksums of all parts. As in the service, the whole has no MD5."""
    sums = Known(size=0, crc32c=_CRC32C_OF_NOTHING, md5="")
    for part in chosen:
        whole = checksums.combined(sums.crc32c, part.crc32c, part.size)
        sums = Known(size=sums.size + part.size, crc32c=whole, md5="")
    return sums


def _named(request: Request) -> list[_ListedPart]:
    try:
        root = documents.read(request.body)
    except documents.MalformedError as error:
        raise _malformed(str(error)) from error
    entries = root.all("Part")
    if root.name != "CompleteMultipartUpload" or not entries:
        raise _malformed("it must be CompleteMultipartUpload with at least one Part")
    if len(entries) > MAX_PARTS:
        raise invalid_argument(f"The list has {len(entries)} parts; the limit is {MAX_PARTS}.")
    parts = []
    for entry in entries:
        number, etag = entry.value("PartNumber"), entry.value("ETag")
        if not number or not number.isascii() or not number.isdigit() or len(number) > 9 or etag is None:
            raise _malformed("every Part must have one PartNumber and one ETag")
        parts.append(_ListedPart(int(number), etag.strip('"').lower()))
    return parts


def _malformed(why: str) -> XmlError:
    return XmlError(400, "MalformedXML", f"The XML you provided could not be used: {why}.")


def _no_upload() -> XmlError:
    return XmlError(
        404,
        "NoSuchUpload",
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been "
        "aborted or completed.",
    )


def _answer(document: str, extra: dict[str, str] | None = None) -> Response:
    return Response(200, written(document), XML, extra or {})
