"""EndpointService: endpoints as records. Models cannot be deployed to them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, Violation, invalid_fields
from vertex_emulator.vertex import listing, names, nested
from vertex_emulator.vertex.names import name_of, new_id, parse_name, parse_parent
from vertex_emulator.vertex.operations import V1, ResourceOperations, already_exists, not_found
from vertex_emulator.vertex.records import Collection, Record, Records
from vertex_emulator.vertex.service import Archived, ArchivedRecords, Document, RestoredRecord, Service
from vertex_emulator.vertex.versions import Stamps

ENDPOINT = f"{V1}.Endpoint"
ENDPOINTS = Collection(id="endpoints", message=ENDPOINT, noun="Endpoint")

_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[1-9][0-9]{0,8}")
_ID_RULE = (
    "If the first character is a letter, this value may be up to 63 characters, and valid characters are "
    "[a-z0-9-]. If it is a number, this value may be up to 9 characters, and valid characters are [0-9] with "
    "no leading zeros."
)
_MAX_DISPLAY_NAME = 128
_UPDATABLE = ("display_name", "description", "labels", "traffic_split")
_OUTPUT = (
    "name",
    "deployed_models",
    "etag",
    "create_time",
    "update_time",
    "model_deployment_monitoring_job",
    "dedicated_endpoint_dns",
    "satisfies_pzs",
    "satisfies_pzi",
)
_LISTING = listing.Listing(
    answer=f"{V1}.ListEndpointsResponse",
    items="endpoints",
    fields={
        "endpoint": listing.Field(value=lambda record: record.id),
        "display_name": listing.Field(value=lambda record: record.message.display_name),
        "labels": listing.LABELS,
    },
    orders={
        "display_name": lambda record: record.message.display_name,
        "create_time": lambda record: record.created,
        "update_time": lambda record: record.message.update_time.ToMicroseconds(),
    },
)


class EndpointService(Service):
    """The endpoints of one emulator."""

    def __init__(self, database: Database, operations: ResourceOperations, clock: Clock) -> None:
        self._operations = operations
        self._stamps = Stamps(clock)
        self.records = Records(database, clock, ENDPOINTS, table="endpoints")

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "CreateEndpoint": self.create,
            "GetEndpoint": self.get,
            "ListEndpoints": self.list_endpoints,
            "UpdateEndpoint": self.update,
            "DeleteEndpoint": self.delete,
        }
        return {f"{descriptors.ENDPOINT_SERVICE}.{name}": method for name, method in methods.items()}

    def archived(self) -> Sequence[Archived]:
        """Return the endpoints."""
        return [_ArchivedEndpoints(self.records)]

    def remove_all(self) -> None:
        self.records.clear()

    def create(self, request: Any) -> Message:
        """Create an endpoint. It exists when the method returns."""
        place = parse_parent(request.parent)
        endpoint_id = request.endpoint_id or new_id()
        made = descriptors.message(ENDPOINT)
        made.CopyFrom(request.endpoint)
        for field in _OUTPUT:
            made.ClearField(field)
        found = list(_problems(made))
        if request.endpoint_id and not _ID.fullmatch(endpoint_id):
            found.append(Violation("endpoint_id", _ID_RULE))
        if found:
            raise invalid_fields(found)
        made.name = name_of(place, ENDPOINTS.id, endpoint_id)
        self._stamps.begin(made)
        try:
            self.records.insert(place, endpoint_id, made)
        except sqlite3.IntegrityError:
            raise already_exists(ENDPOINTS, made.name) from None
        metadata = descriptors.message(f"{V1}.CreateEndpointOperationMetadata")
        return self._operations.done(made.name, made, metadata)

    def get(self, request: Any) -> Message:
        """Return an endpoint."""
        found: Message = self._lookup(request.name).message
        return found

    def list_endpoints(self, request: Any) -> Message:
        """List the endpoints of a location."""
        return listing.list_records(self.records, request, _LISTING)

    def update(self, request: Any) -> Message:
        """Update the names and labels of an endpoint."""
        record = self._lookup(request.endpoint.name)

        def change(message: Any) -> bool:
            self._stamps.check(message, request.endpoint.etag, ENDPOINTS.noun)
            nested.overwrite(message, request.endpoint, request.update_mask.paths, _UPDATABLE)
            if found := list(_problems(message)):
                raise invalid_fields(found)
            self._stamps.touch(message)
            return True

        changed = self.records.change(record.id, change, place=record.place)
        answer: Message = (changed or record).message
        return answer

    def delete(self, request: Any) -> Message:
        """Delete an endpoint."""
        record = self._lookup(request.name)
        self.records.delete(record.id, place=record.place)
        return self._operations.deleted(record.place)

    def _lookup(self, name: str) -> Record:
        place, endpoint_id = parse_name(name, ENDPOINTS.id)
        record = self.records.get(place, endpoint_id)
        if record is None:
            raise not_found(ENDPOINTS, name)
        return record


class _ArchivedEndpoints(ArchivedRecords):
    def restored(self, document: Document) -> _RestoredEndpoint:
        return _RestoredEndpoint(self._records, document)


class _RestoredEndpoint(RestoredRecord):
    """An endpoint of an archive."""

    ids_everywhere = False

    def __init__(self, records: Records, document: Document) -> None:
        super().__init__(records, document)
        if found := list(_problems(self.message)):
            raise invalid_fields(found)

    def is_id(self, text: str) -> bool:
        return _ID.fullmatch(text) is not None or super().is_id(text)


def _problems(endpoint: Any) -> Iterator[Violation]:
    if not endpoint.display_name:
        yield Violation("endpoint.display_name", "Required field is not set.")
    elif len(endpoint.display_name) > _MAX_DISPLAY_NAME:
        words = f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        yield Violation("endpoint.display_name", words)
    if endpoint.traffic_split:
        yield Violation("endpoint.traffic_split", "It must be empty if no model is deployed.")
    yield from names.label_problems(endpoint.labels, "endpoint.labels")
