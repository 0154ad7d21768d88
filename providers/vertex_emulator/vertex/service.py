"""The base class of the services that make up Vertex AI, and their interface to archives."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from google.protobuf import json_format
from google.protobuf.message import DecodeError, EncodeError

from vertex_emulator.http.messages import Route
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding
from vertex_emulator.vertex import names
from vertex_emulator.vertex.records import Record, Records

Document = Mapping[str, Any]
"""A JSON object."""

_ID = re.compile(r"[0-9]{1,19}")


class Restored(Protocol):
    """A checked document of an archive. Invalid content raises `ValueError` or `RpcError`."""

    @property
    def name(self) -> str:
        """The name in the error if it already exists."""

    @property
    def key(self) -> str:
        """The key that is unique within the kind."""

    @property
    def count(self) -> int:
        """The number of things in it, known after the last line."""

    @property
    def ended(self) -> bool:
        """True if it was live when it was exported; an imported one has ended."""

    def read_line(self, line: Document) -> Document:
        """Check the next line and return it in the form for `add`."""

    def check(self) -> None:
        """Check the whole after the last line."""

    def exists(self) -> bool:
        """Return whether it already exists."""

    def add(self, lines: Iterator[Document]) -> None:
        """Record it. Called within a transaction, after the checks for existing ones."""


class Archived(Protocol):
    """One kind of archived things; `folder` consists of letters."""

    @property
    def folder(self) -> str: ...

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """Yield all documents with their lines, oldest first."""

    def restored(self, document: Document) -> Restored:
        """Read a document of an archive. Raises `ValueError`, `RpcError`."""


class ArchivedRecords:
    """The resources in `records`. Subclasses add `extra_fields` to their documents and `lines` after them."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @property
    def folder(self) -> str:
        return self._records.collection.id

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """Yield the resources, oldest first, each consistent in itself."""
        for each in reversed(self._records.everywhere()):
            with self._records.transaction():  # the record and its lines must match
                record = self._records.get(each.place, each.id)
                if record is None:
                    continue
                fields, lines = self.extra_fields(record), list(self.lines(record))
            document = {
                "project": record.project,
                "location": record.location,
                "id": record.id,
                "resource": as_json(record.message),
                **fields,
            }
            yield document, lines

    def extra_fields(self, _: Record) -> Document:
        """Return additional fields of the document."""
        return {}

    def lines(self, _: Record) -> Iterable[Document]:
        """Return the lines after the document."""
        return ()


class RestoredRecord:
    """A resource of an archive without lines. Subclasses add the checks of their kind."""

    count = 1
    has_name = True
    """True if the stored message includes its name."""

    ids_everywhere = True
    """True if IDs are unique across locations, as those that the emulator generates are."""

    def __init__(self, records: Records, document: Document) -> None:
        self.records = records
        self.place = names.read_place(_text(document, "project"), _text(document, "location"))
        self.id = _text(document, "id")
        if not self.is_id(self.id):
            raise ValueError(f"{self.id!r} is not the ID of a {records.collection.noun}")
        self.message = read_message(records.collection.message, document.get("resource"))
        name = names.name_of(self.place, records.collection.id, self.id)
        if self.message.name != (name if self.has_name else ""):
            raise ValueError(f"the resource's name is {self.message.name!r}, the name of another resource")
        if not self.message.HasField("create_time"):
            raise ValueError("the resource has no create_time")
        self.ended = False

    @property
    def name(self) -> str:
        path = names.name_of(self.place, self.records.collection.id, self.id)
        return f"{self.records.collection.noun} {path}"

    @property
    def key(self) -> str:
        return self.id if self.ids_everywhere else self.name

    @property
    def state(self) -> str:
        return self.records.collection.state_of(self.message)

    def is_id(self, text: str) -> bool:
        """Return whether a resource can have that ID."""
        return _ID.fullmatch(text) is not None

    def read_line(self, _: Document) -> Document:
        """Raise ValueError, because there are no lines."""
        raise ValueError(f"a {self.records.collection.noun} has no lines")

    def check(self) -> None:
        """Accept the resource; there is nothing to check after the last line."""

    def exists(self) -> bool:
        if self.ids_everywhere:
            return self.records.find(self.id) is not None
        return self.records.get(self.place, self.id) is not None

    def add(self, _: Iterator[Document]) -> None:
        self.records.insert(self.place, self.id, self.message)


def as_json(message: Any) -> Document:
    """Return a message in the API's JSON form."""
    found: Document = json_format.MessageToDict(message, descriptor_pool=descriptors.pool())
    return found


def read_message(kind: str, value: Any) -> Any:
    """Return the message of that full type name from its JSON form. Raises `ValueError`."""
    message, again = descriptors.message(kind), descriptors.message(kind)
    try:
        json_format.ParseDict(value, message, descriptor_pool=descriptors.pool())
        again.ParseFromString(message.SerializeToString())  # fails for messages that are nested too deeply
    except (json_format.ParseError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is not a {kind.rpartition('.')[2]}: {error}") from error
    except (EncodeError, DecodeError) as error:
        raise ValueError(f"its {kind.rpartition('.')[2]} cannot be stored: {error}") from error
    return message


def read_id(value: object, what: str) -> str:
    """Return an ID that an emulator generated. Raises `ValueError`."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{what} must be an ID, up to 19 digits")
    return value


def _text(document: Document, name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


class Service(ABC):
    """A service of `VertexService`."""

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        return {}

    def routes(self) -> Sequence[Route]:
        """Return additional routes, such as those of an admin view."""
        return ()

    def start(self) -> None:
        """Resume after a restart. Called once the port is open and the custom jobs have been resumed."""
        return

    def live(self) -> int:
        """Return the number of live resources, which keep the emulator running."""
        return 0

    @abstractmethod
    def archived(self) -> Sequence[Archived]:
        """Return the kinds of things that are exported and imported."""

    @abstractmethod
    def remove_all(self) -> None:
        """End and delete all resources. Called before all custom jobs are removed."""
