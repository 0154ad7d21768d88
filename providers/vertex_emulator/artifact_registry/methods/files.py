"""The methods on files: the manifests and blobs of a repository, by digest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry import names
from vertex_emulator.artifact_registry.contents import StoredFile
from vertex_emulator.artifact_registry.listing import PageRequest, filter_of, order_of, page_of
from vertex_emulator.artifact_registry.parts import Parts, has_images
from vertex_emulator.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.artifact_registry.store import Record
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError

_SHA256 = 1
_ORDERS = {
    "name": lambda file: file.name,
    "size_bytes": lambda file: file.size_bytes,
    "create_time": lambda file: file.create_time.ToMicroseconds(),
    "update_time": lambda file: file.update_time.ToMicroseconds(),
    "owner": lambda file: file.owner,
}


class Files:
    """Get and list."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def get(self, request: Any) -> Message:
        """GetFile."""
        record, (identifier,) = self._parts.item(names.parse_item(request.name, "files"))
        for file in self._parts.contents.files(record.name) if has_images(record) else ():
            if file.digest == identifier:
                found: Message = _message(record, file)
                return found
        raise RpcError("NOT_FOUND", f"The repository {record.name} has no file {identifier!r}.")

    def list(self, request: Any) -> Message:
        """ListFiles."""
        record = self._parts.record(names.parse_repository(request.parent))
        lets_through = filter_of(request.filter, ("name", "owner"), _values)
        order, descending = order_of(request.order_by or "name", _ORDERS)
        page = PageRequest.of(request, query=f"files {record.name} {request.filter}\n{request.order_by}")
        stored = self._parts.contents.files(record.name) if has_images(record) else []
        found = [_message(record, each) for each in stored]
        answer = descriptors.message(f"{PACKAGE}.ListFilesResponse")
        chosen, answer.next_page_token = page_of(
            [each for each in found if lets_through(each)],
            page,
            key=lambda each: str(each.name),
            order=order,
            descending=descending,
        )
        answer.files.extend(chosen)
        listed: Message = answer
        return listed


def _message(record: Record, file: StoredFile) -> Any:
    found = descriptors.message(f"{PACKAGE}.File")
    found.name = f"{record.name}/files/{file.digest}"
    found.size_bytes = file.size
    algorithm, _, value = file.digest.partition(":")
    if algorithm == "sha256":
        found.hashes.add(type=_SHA256, value=bytes.fromhex(value))
    found.create_time.FromMicroseconds(file.created)
    found.update_time.FromMicroseconds(file.created)
    package = names.escaped(file.owner.package)
    found.owner = f"{record.name}/packages/{package}/versions/{file.owner.digest}"
    return found


def _values(file: Any, field: str) -> Sequence[str]:
    return [file.name if field == "name" else file.owner]
