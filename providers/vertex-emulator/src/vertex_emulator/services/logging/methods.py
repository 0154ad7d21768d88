"""The methods of Cloud Logging over gRPC, and the entries that arrive while a client waits for them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from vertex_emulator.job_folder import logs
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import descriptors, filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import GrpcBinding, RpcError, Streaming
from vertex_emulator.services.logging import query as logging_query
from vertex_emulator.services.logging.entries import (
    CloudLogging,
    LogSource,
    Query,
    Sources,
    document_of,
    read_query,
)
from vertex_emulator.services.logging.written_entries import WrittenEntries


class Tail:
    """The entries since the last look, in the logs that a query names."""

    def __init__(self, query: Query, sources: Sources, written: WrittenEntries) -> None:
        self._query = query
        self._sources = sources
        self._written = written
        self._last = written.last()
        self._read_until = {path: path.stat().st_size for _, path in self._files()}

    def new(self) -> list[dict[str, Any]]:
        """Return the entries in the API's JSON since the last call, in the order of their times."""
        written, self._last = self._written.read_new(self._query.projects, self._last)
        for source, path in self._files():
            entries, end = logs.read_new(path, self._read_until.get(path, 0))
            self._read_until[path] = end
            written += [document_of(source, entry) for entry in entries]
        matching = [
            document
            for document in written
            if filters.matches(self._query.expression, logging_query.predicate_of(document))
        ]
        return sorted(matching, key=lambda document: (document["timestamp"], document["insertId"]))

    def _files(self) -> Iterator[tuple[LogSource, Path]]:
        job_id = filters.required(self._query.expression, "resource.labels.job_id")
        for source in self._sources(job_id):
            if project_number(source.project) in self._query.projects:
                yield from ((source, path) for path in sorted(source.folder.glob("*.jsonl")))


_PACKAGE = "google.logging.v2"
_MOST_IN_A_MESSAGE = 100
_UNREADABLE = (json_format.Error, TypeError, ValueError, OverflowError)
"""Errors of `json_format` for a value that a field cannot have."""


def bindings(logging: CloudLogging) -> Mapping[str, GrpcBinding]:
    """Return the methods by full name."""

    def list_entries(request: DynamicMessage) -> DynamicMessage:
        answer = logging.list_entries(_document(request))
        page = descriptors.message(f"{_PACKAGE}.ListLogEntriesResponse")
        page.entries.extend(entry_message(each) for each in answer["entries"])
        page.next_page_token = answer.get("nextPageToken", "")
        return page

    def write(request: DynamicMessage) -> DynamicMessage:
        payloads = {number: _take_payload(entry) for number, entry in enumerate(request.entries)}
        document = {"entries": [], **_document(request)}
        for number, payload in payloads.items():
            if payload is not None:
                document["entries"][number]["protoPayload"] = payload
        logging.write(document)
        return descriptors.message(f"{_PACKAGE}.WriteLogEntriesResponse")

    def logs(request: DynamicMessage) -> DynamicMessage:
        parents = request.resource_names or [request.parent]
        answer = descriptors.message(f"{_PACKAGE}.ListLogsResponse")
        answer.log_names.extend(sorted({name for each in parents for name in logging.logs(each)["logNames"]}))
        return answer

    def delete(request: DynamicMessage) -> DynamicMessage:
        logging.delete(request.log_name)
        return descriptors.empty()

    def tail(request: DynamicMessage) -> Iterator[DynamicMessage | None]:
        document = {"resourceNames": list(request.resource_names), "filter": request.filter}
        return _responses(Tail(read_query(document), logging.sources, logging.written))

    return {
        f"{descriptors.LOGGING}.TailLogEntries": Streaming(tail),
        f"{descriptors.LOGGING}.ListLogEntries": list_entries,
        f"{descriptors.LOGGING}.WriteLogEntries": write,
        f"{descriptors.LOGGING}.ListLogs": logs,
        f"{descriptors.LOGGING}.DeleteLog": delete,
    }


def _responses(found: Tail) -> Iterator[DynamicMessage | None]:
    while True:
        entries = found.new()
        for at in range(0, len(entries), _MOST_IN_A_MESSAGE):
            response = descriptors.message(f"{_PACKAGE}.TailLogEntriesResponse")
            response.entries.extend(entry_message(each) for each in entries[at : at + _MOST_IN_A_MESSAGE])
            yield response
        if not entries:
            yield None


def entry_message(document: Mapping[str, Any]) -> DynamicMessage:
    """Return the LogEntry of an entry in the API's JSON, without the fields that no LogEntry can have.

    Over HTTP, programs may have written such fields.
    """
    entry = descriptors.message(f"{_PACKAGE}.LogEntry")
    try:
        _parse(document, entry)
    except _UNREADABLE:
        entry.Clear()
        for name, value in document.items():
            _set_if_readable(entry, name, value)
    return entry


def _set_if_readable(entry: DynamicMessage, name: str, value: Any) -> None:
    try:
        _parse({name: value}, entry)
    except _UNREADABLE:
        if name == "protoPayload":
            _set_packed(entry.proto_payload, value)


def _parse(document: Mapping[str, Any], message: DynamicMessage) -> None:
    json_format.ParseDict(
        dict(document), message, ignore_unknown_fields=True, descriptor_pool=descriptors.pool()
    )


def _document(message: DynamicMessage) -> dict[str, Any]:
    """Return a message in the API's JSON. Raises `RpcError`, as for a number that is not finite."""
    try:
        return json_format.MessageToDict(message, descriptor_pool=descriptors.pool())
    except _UNREADABLE as error:
        raise RpcError("INVALID_ARGUMENT", f"The request has no JSON format: {error}") from error


def _take_payload(entry: DynamicMessage) -> dict[str, Any] | None:
    """Remove the proto_payload of an entry, and return it. If its type is unknown, it is in base64."""
    if not entry.HasField("proto_payload"):
        return None
    packed = entry.proto_payload
    try:
        payload = json_format.MessageToDict(packed, descriptor_pool=descriptors.pool())
    except _UNREADABLE:
        payload = {"@type": packed.type_url, "value": b64encode(packed.value).decode()}
    entry.ClearField("proto_payload")
    return payload


def _set_packed(packed: Any, value: Any) -> None:
    """Set a message of an unknown type from the form that `_take_payload` returns; ignore any other."""
    if not isinstance(value, dict) or set(value) != {"@type", "value"}:
        return
    try:
        content = b64decode(value["value"], validate=True)
    except (Base64Error, TypeError, ValueError):
        return
    packed.type_url, packed.value = value["@type"], content
