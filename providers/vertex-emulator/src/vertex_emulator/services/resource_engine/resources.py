"""The engine of stored resources: Create, Get, List, Update and Delete from Google's descriptors.

The descriptors have the request's fields for a resource and its ID, the response of the list, the operations
and their metadata, and the fields that only the service sets. A service declares the rest in a subclass of
`Resources`: what can be updated, filters, orders and sizes of pages, the rule of IDs, checks and defaults.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.field_mask_pb2 import FieldMask

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Unary, Violation, invalid_fields
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.listing import Listing
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.server_owned import without_server_owned
from vertex_emulator.services.resource_engine.versions import Stamps


class Resources:
    """The methods of one kind of resource."""

    updatable: Sequence[str] = ()
    ids: names.IdRule | None = None
    listing: Listing = Listing()
    etags: bool = True

    def __init__(
        self,
        service: str,
        records: Records,
        operations: ResourceOperations,
        clock: Clock,
        *,
        parents: Records | None = None,
    ) -> None:
        """`service` is the full name; `parents` are the resources that a nested one is below."""
        self.records = records
        self.parents = parents
        self.operations = operations
        self.stamps = Stamps(clock, etags=self.etags)
        message = descriptors.pool().FindMessageTypeByName(records.collection.message)
        methods = descriptors.pool().FindServiceByName(service).methods
        self._methods: dict[str, MethodDescriptor] = {}
        for method in methods:
            items = [each.name for each in method.output_type.fields if each.message_type == message]
            if method.name.startswith("List") and items and "List" not in self._methods:
                self._methods["List"] = method
                self.listing = replace(
                    self.listing, answer=method.output_type.full_name, items=items[0], shown=self.shown
                )
            elif method.name.endswith(message.name):
                self._methods[method.name.removesuffix(message.name)] = method
        fields = self._methods["Create" if "Create" in self._methods else "Upload"].input_type.fields
        self.field = next(each.name for each in fields if each.message_type == message)
        self.id_field = next((each.name for each in fields if each.name == f"{self.field}_id"), "")

    def methods(self) -> Mapping[str, Unary]:
        """Return the methods by full name."""
        known = {
            "Create": self.create,
            "Get": self.get,
            "List": self.list_page,
            "Update": self.update,
            "Delete": self.delete,
        }
        return {self._methods[verb].full_name: known[verb] for verb in known if verb in self._methods}

    # What kinds of resources declare

    def prepare(self, message: DynamicMessage, parent: Record | None) -> None:
        """Fill in defaults of a new or updated resource, before the checks."""

    def problems(self, message: DynamicMessage, parent: Record | None) -> Iterable[Violation]:  # noqa: ARG002
        """Check a new or updated resource, and yield each violation."""
        return ()

    def complete(self, message: DynamicMessage, place: Place) -> None:
        """Fill in what the service adds to a new or updated resource, after the checks."""

    def saved(self, record: Record) -> None:
        """Do what follows from a new or updated resource, in its transaction."""

    def shown(self, record: Record) -> DynamicMessage:
        """Return the message of a resource in answers."""
        return record.message

    def overwrite(
        self, message: DynamicMessage, given: DynamicMessage, paths: Sequence[str]
    ) -> Iterable[Violation]:
        """Copy the fields of a mask from `given`; without a mask, or with "*", those that `given` has.

        Return the violations of the mask.
        """
        if paths in ([], ["*"]):
            paths = [field.name for field, _ in given.ListFields() if field.name in self.updatable]
        allowed = [path for path in paths if path in self.updatable]
        mask = FieldMask(paths=allowed)
        mask.MergeMessage(given, message, replace_message_field=True, replace_repeated_field=True)
        return [
            Violation("update_mask", f"{path!r} cannot be updated; {', '.join(self.updatable)} can.")
            for path in paths
            if path not in allowed
        ]

    def remove(self, record: Record) -> None:
        """Delete a resource with all that belongs to it, in a transaction."""
        self.records.delete(record.id, place=record.place)

    def answer(self, verb: str, record: Record) -> DynamicMessage:
        """Return the answer of a method, in its transaction: the resource, or an operation that is done."""
        is_gone = verb == "Delete"
        message = descriptors.empty() if is_gone else self.shown(record)
        if self._methods[verb].output_type.full_name != "google.longrunning.Operation":
            return message
        return self.operations.done(self.below(verb, record), message, self.metadata(verb))

    # Methods of the API

    def create(self, request: DynamicMessage) -> DynamicMessage:
        """Create a resource. It exists when the method returns."""
        with self.records.transaction():
            return self.answer("Create", self.add(request, *self.scope(request.parent)))

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a resource."""
        return listing.masked(self.shown(self.records.lookup(request.name)), request)

    def list_page(self, request: DynamicMessage) -> DynamicMessage:
        """List the resources of a location, or those below a parent."""
        place, parent = self.scope(request.parent)
        below = f"{parent.id}/" if parent else ""
        return listing.list_records(self.records, request, self.listing, place=place, below=below)

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update a resource."""
        asked = getattr(request, self.field)
        with self.records.transaction():
            record = self.records.lookup(asked.name)
            parent = self.scope(record.name.rsplit("/", 2)[0])[1]
            given = without_server_owned(asked)
            self.check_etag(record, asked)

            def change(message: DynamicMessage) -> bool:
                found = [*self.overwrite(message, given, list(request.update_mask.paths))]
                self.prepare(message, parent)
                if found := [*found, *self.problems(message, parent)]:
                    raise invalid_fields(found)
                self.complete(message, record.place)
                self.stamps.touch(message)
                return True

            changed = self.records.change(record.id, change, place=record.place) or record
            self.saved(changed)
            return self.answer("Update", changed)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a resource."""
        with self.records.transaction():
            record = self.records.lookup(request.name)
            self.check_etag(record, request, code="FAILED_PRECONDITION")
            self.remove(record)
            return self.answer("Delete", record)

    # For methods that a service adds

    def scope(self, parent: str) -> tuple[Place, Record | None]:
        """Return the location of a parent, and the parent itself if it is a resource."""
        if self.parents is None:
            return names.parse_parent(parent), None
        record = self.parents.lookup(parent)
        return record.place, record

    def siblings(self, record: Record) -> Iterator[Record]:
        """Yield the other resources of a nested one's parent."""
        _, parent = self.scope(record.name.rsplit("/", 2)[0])
        yield from (each for each in self.records.below(parent) if each.id != record.id) if parent else ()

    def add(
        self,
        request: DynamicMessage,
        place: Place,
        parent: Record | None = None,
        *,
        more: Iterable[Violation] = (),
    ) -> Record:
        """Store the resource of a request to create one.

        Raises `RpcError` with all violations; `more` are those that the method has found itself.
        """
        given, given_id = getattr(request, self.field), getattr(request, self.id_field, "")
        return self.store(given, given_id, place, parent, id_path=self.id_field, more=more)

    def store(
        self,
        given: DynamicMessage,
        given_id: str,
        place: Place,
        parent: Record | None,
        *,
        id_path: str,
        more: Iterable[Violation] = (),
    ) -> Record:
        """Store a resource; without an ID the service makes one. `id_path` is for the violation."""
        made = without_server_owned(given)
        self.prepare(made, parent)
        found = []
        if self.ids and (given_id or self.ids.required) and not self.ids.pattern.fullmatch(given_id):
            found.append(Violation(id_path, self.ids.words.format(id=given_id)))
        if found := [*found, *self.problems(made, parent), *more]:
            raise invalid_fields(found)
        collection = self.records.collection
        path = self.records.child(parent, given_id or names.new_id())
        made.name = names.name_of(place, collection.id, path)
        self.stamps.begin(made)
        self.complete(made, place)
        with self.records.transaction():
            try:
                self.records.insert(place, path, made)
            except sqlite3.IntegrityError:
                raise collection.exists(made.name) from None
            record = self.records.lookup(made.name)
            self.saved(record)
        return record

    def check_etag(self, record: Record, given: DynamicMessage, *, code: str = "ABORTED") -> None:
        """Raise an error if `given` has an etag that is not the one of the resource."""
        if etag := getattr(given, "etag", ""):
            self.stamps.check(self.shown(record), etag, self.records.collection.noun, code=code)

    def below(self, verb: str, record: Record) -> str:
        """Return what the operation of a method is below: the resource, or its location after a deletion."""
        return str(record.place) if verb == "Delete" else record.name

    def metadata(self, verb: str) -> DynamicMessage:
        """Return new metadata of the operations of a method."""
        return descriptors.message(descriptors.operation_metadata(self._methods[verb]))
