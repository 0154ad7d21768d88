"""The methods of Cloud Logging over gRPC, and the entries that arrive while a client waits for them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from vertex_emulator.job_folder import logs
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.logging import query as logging_query
from vertex_emulator.logging.entries import CloudLogging, LogSource, Query, Sources, document_of, read_query
from vertex_emulator.logging.written_entries import WrittenEntries
from vertex_emulator.rpc import descriptors, filters
from vertex_emulator.rpc.methods import GrpcBinding, RpcError, Streaming


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
        found, self._last = self._written.read_new(self._query.projects, self._last)
        for source, path in self._files():
            entries, end = logs.read_new(path, self._read_until.get(path, 0))
            self._read_until[path] = end
            found += [document_of(source, entry) for entry in entries]
        matching = [
            document
            for document in found
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

    def list_entries(request: Any) -> Message:
        answer = logging.list_entries(_document(request))
        page = descriptors.message(f"{_PACKAGE}.ListLogEntriesResponse")
        page.entries.extend(entry_message(each) for each in answer["entries"])
        page.next_page_token = answer.get("nextPageToken", "")
        found: Message = page
        return found

    def write(request: Any) -> Message:
        payloads = {number: _take_payload(entry) for number, entry in enumerate(request.entries)}
        document = {"entries": [], **_document(request)}
        for number, payload in payloads.items():
            if payload is not None:
                document["entries"][number]["protoPayload"] = payload
        logging.write(document)
        empty: Message = descriptors.message(f"{_PACKAGE}.WriteLogEntriesResponse")
        return empty

    def logs(request: Any) -> Message:
        parents = request.resource_names or [request.parent]
        answer = descriptors.message(f"{_PACKAGE}.ListLogsResponse")
        answer.log_names.extend(sorted({name for each in parents for name in logging.logs(each)["logNames"]}))
        found: Message = answer
        return found

    def delete(request: Any) -> Message:
        logging.delete(request.log_name)
        empty: Message = descriptors.message("google.protobuf.Empty")
        return empty

    def tail(request: Any) -> Iterator[Message | None]:
        document = {"resourceNames": list(request.resource_names), "filter": request.filter}
        return _responses(Tail(read_query(document), logging.sources, logging.written))

    return {
        f"{descriptors.LOGGING}.TailLogEntries": Streaming(tail),
        f"{descriptors.LOGGING}.ListLogEntries": list_entries,
        f"{descriptors.LOGGING}.WriteLogEntries": write,
        f"{descriptors.LOGGING}.ListLogs": logs,
        f"{descriptors.LOGGING}.DeleteLog": delete,
    }


def _responses(found: Tail) -> Iterator[Message | None]:
    while True:
        entries = found.new()
        for at in range(0, len(entries), _MOST_IN_A_MESSAGE):
            response = descriptors.message(f"{_PACKAGE}.TailLogEntriesResponse")
            response.entries.extend(entry_message(each) for each in entries[at : at + _MOST_IN_A_MESSAGE])
            yield response
        if not entries:
            yield None


def entry_message(document: Mapping[str, Any]) -> Any:
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


def _set_if_readable(entry: Any, name: str, value: Any) -> None:
    try:
        _parse({name: value}, entry)
    except _UNREADABLE:
        if name == "protoPayload":
            _set_packed(entry.proto_payload, value)


def _parse(document: Mapping[str, Any], message: Any) -> None:
    json_format.ParseDict(
        dict(document), message, ignore_unknown_fields=True, descriptor_pool=descriptors.pool()
    )


def _document(message: Any) -> dict[str, Any]:
    """Return a message in the API's JSON. Raises `RpcError`, as for a number that is not finite."""
    try:
        return json_format.MessageToDict(message, descriptor_pool=descriptors.pool())
    except _UNREADABLE as error:
        raise RpcError("INVALID_ARGUMENT", f"The request has no JSON format: {error}") from error


def _take_payload(entry: Any) -> dict[str, Any] | None:
    """Remove the proto_payload of an entry, and return it. If its type is unknown, it is in base64."""
    if not entry.HasField("proto_payload"):
        return None
    packed = entry.proto_payload
    try:
        found = json_format.MessageToDict(packed, descriptor_pool=descriptors.pool())
    except _UNREADABLE:
        found = {"@type": packed.type_url, "value": b64encode(packed.value).decode()}
    entry.ClearField("proto_payload")
    return found


def _set_packed(packed: Any, value: Any) -> None:
    """Set a message of an unknown type from the form that `_take_payload` returns; ignore any other."""
    if not isinstance(value, dict) or set(value) != {"@type", "value"}:
        return
    try:
        content = b64decode(value["value"], validate=True)
    except (Base64Error, TypeError, ValueError):
        return
    packed.type_url, packed.value = value["@type"], content
