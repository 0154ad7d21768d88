"""Resumable uploads, which arrive in any number of pieces and survive crashes of both sides.

The received bytes are in the file objects-incoming/ID. Their checksums are in memory, and computed again from
the file after a restart.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.server.http.messages import Request, Response
from vertex_emulator.services.storage.disk import checksums
from vertex_emulator.services.storage.disk.checksums import Checksums, Expected
from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.errors import StorageError, invalid, no_object
from vertex_emulator.services.storage.fields import checks, parameters
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.resources import object_resource
from vertex_emulator.services.storage.uploads.incoming import Target

GRAIN = 256 * 1024
"""The size of which all pieces except the last must be a multiple, as in the service."""

_BLOCK = 1 << 20
_LOCKS = 64
_MAX_CACHED = 256
_PARAMETERS = frozenset({"uploadType", "upload_id"})
_RANGE = re.compile(r"bytes (?:\*|(\d{1,18})-(\d{1,18}|\*))/(\d{1,18}|\*)")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The piece in a request: bytes `start` to `end` (exclusive) of `total`; None if unknown.

    A piece without an end is the rest of the upload.
    """

    start: int | None
    end: int | None
    total: int | None


class Sessions:
    """The resumable uploads."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store
        self._store = object_store.store
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))
        self._sums: OrderedDict[str, Checksums] = OrderedDict()
        self._sums_lock = threading.Lock()

    def begin(self, request: Request, target: Target, conditions: Preconditions) -> Response:
        """Begin an upload. The header Location of the response has its address."""
        with self._store.locked(target.bucket):
            conditions.check(self._object_store.current(target.bucket, target.name))
        size = request.headers.get("x-upload-content-length")
        identifier = secrets.token_hex(32)
        self._path(identifier).touch(exist_ok=False)
        self._store.put_upload(
            identifier,
            bucket=target.bucket,
            name=target.name,
            started=self._store.clock.now(),
            request={
                "settings": target.settings,
                "expected": [asdict(expected) for expected in target.expected],
                "conditions": conditions.to_json(),
                "size": None if size is None else checks.whole("X-Upload-Content-Length", size),
            },
        )
        address = f"{request.base_url}{request.path}?uploadType=resumable&upload_id={identifier}"
        if selection := request.parameter("fields"):
            address += f"&fields={quote(selection, safe='')}"
        return Response(200, headers={"Location": address, "X-GUploader-UploadID": identifier})

    def resume(self, request: Request, bucket: str) -> Response:
        """Receive a piece, report the number of received bytes, or cancel."""
        parameters.check(request, _PARAMETERS)
        done = self.advance(request, bucket)
        if isinstance(done, StoredObject):
            return answer(request, object_resource(done, request.base_url))
        return done

    def advance(self, request: Request, bucket: str) -> StoredObject | Response:
        """Do the work of `resume`. Return the object once the upload is complete."""
        identifier = parameters.text(request, "upload_id")
        with self._locks[hash(identifier) % _LOCKS]:
            upload = self._store.upload(identifier)
            if upload is None or upload["bucket"] != bucket or not self._has_content(upload):
                raise StorageError(
                    404,
                    "notFound",
                    "The resumable upload does not exist: it was cancelled or has expired. Begin again.",
                )
            if request.method == "DELETE":
                self._forget(identifier)
                return Response(499, b"", "text/html; charset=UTF-8")
            if upload["generation"] is not None:
                return self._finished(upload)
            try:
                return self._take(request, identifier, upload)
            except OSError as error:
                if is_out_of_space(error):
                    # Clients give up at this error, and the received bytes would fill the disk.
                    self._forget(identifier)
                raise

    def _has_content(self, upload: dict[str, Any]) -> bool:
        return upload["generation"] is not None or self._path(upload["id"]).exists()

    def _finished(self, upload: dict[str, Any]) -> StoredObject:
        stored = self._store.generation(upload["bucket"], upload["name"], upload["generation"])
        if stored is None:
            raise no_object(upload["bucket"], upload["name"])
        return stored

    def _take(self, request: Request, identifier: str, upload: dict[str, Any]) -> StoredObject | Response:
        piece = _piece(request, declared=upload["request"]["size"])
        with self._path(identifier).open("r+b", buffering=0) as file:
            sums = self._so_far(identifier, file)
            if piece.start is None:
                complete = piece.total is not None and sums.size == piece.total
            else:
                self._receive(request, identifier, file, sums, piece)
                complete = piece.total in (None, sums.size) if piece.end is None else piece.end == piece.total
            state = state_of(file)
        if not complete:
            return _incomplete(request, identifier, sums.size)
        content = Content(path=self._path(identifier), state=state, sums=sums)
        return self._finish(request, identifier, upload, content)

    def _finish(
        self, request: Request, identifier: str, upload: dict[str, Any], content: Content
    ) -> StoredObject:
        begun = upload["request"]
        try:
            checksums.verify(
                content.sums,
                *(Expected(**expected) for expected in begun["expected"]),
                checksums.from_header(request.headers),
            )
            stored = self._object_store.put(
                upload["bucket"],
                upload["name"],
                content,
                settings=begun["settings"],
                preconditions=Preconditions(**begun["conditions"]),
                finish=lambda generation: self._store.finish_upload(identifier, generation),
            )
        except StorageError:
            self._forget(identifier)
            raise
        with self._sums_lock:
            self._sums.pop(identifier, None)
        return stored

    def _receive(
        self, request: Request, identifier: str, file: BinaryIO, sums: Checksums, piece: Piece
    ) -> None:
        """Append the piece's bytes. If the client disconnects, the bytes received so far are kept."""
        start, had = piece.start or 0, sums.size
        if start > had:
            raise invalid(
                f"The piece begins at byte {start}, but {had} bytes have arrived. Send from byte {had}."
            )
        last = piece.end is None or piece.end == piece.total
        until = None if last else (piece.end or 0) // GRAIN * GRAIN
        at = start
        try:
            while block := request.body.read(_BLOCK):
                most = piece.total if piece.end is None else piece.end
                if most is not None and at + len(block) > most:
                    raise invalid(f"The body is longer than its Content-Range, which ends at {most - 1}.")
                fresh = block[max(sums.size - at, 0) : None if until is None else max(until - at, 0)]
                at += len(block)
                _write(file, fresh)
                sums.update(fresh)
            if piece.end is not None and at != piece.end:
                raise invalid(f"The body ends before its Content-Range does: at byte {at} of {piece.end}.")
        except BaseException as error:
            # A full disk or an invalid piece: drop the piece. A lost connection: keep whole grains.
            keep = sums.size // GRAIN * GRAIN if isinstance(error, (ConnectionError, TimeoutError)) else had
            file.truncate(max(keep, had))
            if sums.size != max(keep, had):
                with self._sums_lock:
                    self._sums.pop(identifier, None)
            raise

    def _so_far(self, identifier: str, file: BinaryIO) -> Checksums:
        """Return size and checksums of the received bytes, and move `file` to its end."""
        with self._sums_lock:
            sums = self._sums.get(identifier)
        size = os.fstat(file.fileno()).st_size
        if sums is None or sums.size != size:
            file.truncate(size // GRAIN * GRAIN)
            file.seek(0)
            sums = checksums.of_file(file)
        file.seek(0, os.SEEK_END)
        with self._sums_lock:
            self._sums[identifier] = sums
            self._sums.move_to_end(identifier)
            while len(self._sums) > _MAX_CACHED:
                self._sums.popitem(last=False)
        return sums

    def _forget(self, identifier: str) -> None:
        self._path(identifier).unlink(missing_ok=True)
        self._store.remove_upload(identifier)
        with self._sums_lock:
            self._sums.pop(identifier, None)

    def _path(self, identifier: str) -> Path:
        return self._object_store.files.incoming_path(identifier)


def _incomplete(request: Request, identifier: str, size: int) -> Response:
    """Return the response to a piece that is not the last one.

    Clients whose HTTP library follows 308 as a redirection, such as Google's for Go, ask for 200 instead.
    """
    headers = {"X-GUploader-UploadID": identifier}
    if size:
        headers["Range"] = f"bytes=0-{size - 1}"
    status = 308
    if request.headers.get("x-guploader-no-308", "").lower() == "yes":
        headers["X-Http-Status-Code-Override"] = "308"
        status = 200
    return Response(status, b"", "text/plain; charset=utf-8", headers)


def _piece(request: Request, *, declared: int | None) -> Piece:
    """Parse the header Content-Range. Raises `StorageError` 400."""
    header = request.headers.get("content-range")
    if header is None:
        return Piece(start=0, end=None, total=None)
    match = _RANGE.fullmatch(header.strip())
    if match is None:
        raise invalid(
            f"Content-Range must be 'bytes A-B/TOTAL', 'bytes A-*/TOTAL' or 'bytes */TOTAL', not {header!r}."
        )
    total = None if match[3] == "*" else int(match[3])
    if total is not None and declared is not None and total != declared:
        raise invalid(f"Content-Range has a total of {total} bytes; the upload was begun with {declared}.")
    if match[1] is None:
        return Piece(start=None, end=None, total=total)
    start, end = int(match[1]), None if match[2] == "*" else int(match[2]) + 1
    if end is None:
        return Piece(start=start, end=None, total=total)
    if end <= start or (total is not None and end > total):
        raise invalid(f"Content-Range {header!r} contradicts itself.")
    return Piece(start=start, end=end, total=total)


def _write(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
