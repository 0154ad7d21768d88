"""What an archive of the emulator's state holds of a service: documents, each followed by lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from google.protobuf import json_format
from google.protobuf.message import DecodeError, EncodeError

from vertex_emulator.rpc import descriptors
from vertex_emulator.vertex import names
from vertex_emulator.vertex.records import Record, Records

Document = Mapping[str, Any]
"""A JSON object."""

_ID = re.compile(r"[0-9]{1,19}")


class Restored(Protocol):
    """A document that somebody else wrote, checked. What does not hold raises `ValueError` or `RpcError`."""

    @property
    def name(self) -> str:
        """What it is called when it is there already."""

    @property
    def key(self) -> str:
        """What no other one of the kind may have."""

    @property
    def count(self) -> int:
        """How many things it is; known behind the last line."""

    @property
    def ended(self) -> bool:
        """Whether it was going on when it was exported; nothing of it does here."""

    def take(self, line: Document) -> Document:
        """The next line in the form in which `add` gets it."""

    def check(self) -> None:
        """Called behind the last line."""

    def is_taken(self) -> bool:
        """Whether it is there already."""

    def add(self, lines: Iterator[Document]) -> None:
        """Record it. Within a transaction, after all that is there already was asked for."""


class Archived(Protocol):
    """One kind of things that are kept; `folder` is a name of letters."""

    @property
    def folder(self) -> str: ...

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """All with their lines, the oldest first."""

    def restored(self, document: Document) -> Restored:
        """Read one. Raises `ValueError`, `RpcError`."""


class ArchivedRecords:
    """The resources in `records`, each with `extra_fields` in its document and `lines` behind it."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @property
    def folder(self) -> str:
        return self._records.collection.id

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """The resources, the oldest first, each as it is at one moment."""
        for each in reversed(self._records.everywhere()):
            with self._records.transaction():  # nobody changes it meanwhile
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
        """What its document has besides."""
        return {}

    def lines(self, _: Record) -> Iterable[Document]:
        """What is behind it."""
        return ()


class RestoredRecord:
    """A resource of an archive without lines. Subclasses check what is particular about their kind."""

    count = 1
    has_name = True
    """Whether the stored message has its name."""

    ids_everywhere = True
    """Whether an id is in one place only, as those that the emulator makes are."""

    def __init__(self, records: Records, document: Document) -> None:
        self.records = records
        self.place = names.read_place(_text(document, "project"), _text(document, "location"))
        self.id = _text(document, "id")
        if not self.is_id(self.id):
            raise ValueError(f"{self.id!r} is not the id of a {records.collection.noun}")
        self.message = read_message(records.collection.message, document.get("resource"))
        name = names.name_of(self.place, records.collection.id, self.id)
        if self.message.name != (name if self.has_name else ""):
            raise ValueError(f"the resource's name is {self.message.name!r}, which is another one's")
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
        """Whether a resource can have that id."""
        return _ID.fullmatch(text) is not None

    def take(self, _: Document) -> Document:
        """There are no lines."""
        raise ValueError(f"a {self.records.collection.noun} has no lines")

    def check(self) -> None:
        """Nothing is to be looked at together."""

    def is_taken(self) -> bool:
        if self.ids_everywhere:
            return self.records.find(self.id) is not None
        return self.records.get(self.place, self.id) is not None

    def add(self, _: Iterator[Document]) -> None:
        self.records.insert(self.place, self.id, self.message)


def as_json(message: Any) -> Document:
    """A message in the API's JSON."""
    found: Document = json_format.MessageToDict(message, descriptor_pool=descriptors.pool())
    return found


def read_message(kind: str, value: Any) -> Any:
    """The message of a type, by its full name, that a JSON value is. Raises `ValueError`."""
    message, again = descriptors.message(kind), descriptors.message(kind)
    try:
        json_format.ParseDict(value, message, descriptor_pool=descriptors.pool())
        again.ParseFromString(message.SerializeToString())  # what is nested too deeply could not be read here
    except (json_format.ParseError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no {kind.rpartition('.')[2]}: {error}") from error
    except (EncodeError, DecodeError) as error:
        raise ValueError(f"its {kind.rpartition('.')[2]} cannot be stored: {error}") from error
    return message


def read_id(value: object, what: str) -> str:
    """An id that the emulator has made. Raises `ValueError`."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{what} has to be an id, up to 19 digits")
    return value


def _text(document: Document, name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} has to be a text")
    return value
