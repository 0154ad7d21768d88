"""Records of resources below other resources, such as tensorboards/T/experiments/E.

The ID of such a record is its path below the first collection, T/experiments/E.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.vertex.names import parse_parent
from vertex_emulator.vertex.operations import not_found
from vertex_emulator.vertex.records import Collection, Record, Records
from vertex_emulator.vertex.service import ArchivedRecords, Document, RestoredRecord

ID_RULE = (
    "This value should be 1-128 characters: lowercase letters, numbers and dashes, not beginning with a dash."
)
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
_NEWEST = (2**62, 2**62)


@dataclass(frozen=True, kw_only=True)
class Level:
    """One kind of resource of a tree.

    `segments` are the collections in a name, such as ("tensorboards", "experiments"). `folder` is the name of
    the kind in archives. `noun` is its name in the service's errors.
    """

    segments: tuple[str, ...]
    message: str
    noun: str
    table: str
    folder: str


def is_id(text: str) -> bool:
    """Return whether a resource below another one can have that ID."""
    return _ID.fullmatch(text) is not None


def check_id(text: str, field: str) -> None:
    """Raise INVALID_ARGUMENT for an ID that a client must not choose."""
    if not is_id(text):
        raise invalid_fields([Violation(field, f"{text!r} is not a valid ID. {ID_RULE}")])


class NestedRecords(Records):
    """All resources of one level."""

    def __init__(self, database: Database, clock: Clock, level: Level) -> None:
        collection = Collection(id=level.segments[0], message=level.message, noun=level.noun)
        super().__init__(database, clock, collection, table=level.table)
        self.level = level

    def parse(self, name: str) -> tuple[Place, str]:
        """Return the location and the path of a resource name. Raises `RpcError` INVALID_ARGUMENT."""
        parent, found, path = name.partition(f"/{self.level.segments[0]}/")
        if not found or not self.is_path(path, all):
            pattern = "/".join(f"{each}/ID" for each in self.level.segments)
            raise RpcError(
                "INVALID_ARGUMENT",
                f"{name!r} is not a name of the form projects/PROJECT/locations/REGION/{pattern}.",
            )
        return parse_parent(parent), path

    def is_path(self, path: str, accepts: Any = all) -> bool:
        """Return whether a path has the collections of this level; `accepts` gets its IDs."""
        parts = path.split("/")
        return tuple(parts[1::2]) == self.level.segments[1:] and len(parts) % 2 == 1 and accepts(parts[::2])

    def lookup(self, name: str) -> Record:
        """Return the resource of a name. Raises `RpcError`."""
        place, path = self.parse(name)
        found = self.get(place, path)
        if found is None:
            raise self.missing(name)
        return found

    def missing(self, name: str) -> RpcError:
        """Return the error for a resource that does not exist."""
        return not_found(self.collection, name)

    def child(self, parent: Record, resource_id: str) -> str:
        """Return the path of a resource of this level below `parent`."""
        return f"{parent.id}/{self.level.segments[-1]}/{resource_id}"

    def below(self, parent: Record) -> Below:
        """Return the resources of this level below `parent`, at any depth."""
        return Below(records=self, parent=parent)

    def count_below(self, parent: Record) -> int:
        """Return the number of resources of this level below `parent`."""
        rows = self.database.own_rows(
            f"SELECT COUNT(*) AS number FROM {self._table} WHERE {_BELOW}",  # noqa: S608 - names of ours
            _range(parent),
        )
        return int(rows[0]["number"])

    def where(self, condition: str, *parameters: object) -> list[Record]:
        """Return the resources that meet an SQL condition, with those of the thread's own transaction."""
        return [self._record(row) for row in self.database.own_rows(self._select(condition), parameters)]

    def get(self, place: Place, resource_id: str) -> Record | None:
        """Return the resource of a location, or None."""
        found = self.where(
            "id = ? AND project_number = ? AND location = ?", resource_id, place.number, place.location
        )
        return found[0] if found else None

    def delete_below(self, parent: Record) -> None:
        """Delete the resources of this level below `parent`."""
        for each in list(self.below(parent).newest_first(parent.place)):
            self.delete(each.id, place=each.place)


@dataclass(frozen=True, kw_only=True)
class Below:
    """The resources of a level below one parent, as a source of lists."""

    records: NestedRecords
    parent: Record

    def newest_first(self, _: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """Yield the resources after `before`, a pair of `created` and `number`."""
        yield from self.records.where(
            f"{_BELOW} AND (created, rowid) < (?, ?) ORDER BY created DESC, rowid DESC",
            *_range(self.parent),
            *(before or _NEWEST),
        )


_BELOW = "project_number = ? AND location = ? AND id >= ? AND id < ?"


def _range(parent: Record) -> tuple[str, str, str, str]:
    """Return the parameters of `_BELOW`; "0" follows "/"."""
    return parent.place.number, parent.location, f"{parent.id}/", f"{parent.id}0"


class ArchivedNested(ArchivedRecords):
    """The resources of one level, for an archive."""

    def __init__(self, records: NestedRecords) -> None:
        super().__init__(records)
        self.records = records

    @property
    def folder(self) -> str:
        return self.records.level.folder

    def restored(self, document: Document) -> RestoredNested:
        return RestoredNested(self.records, document)


class RestoredNested(RestoredRecord):
    """A resource of an archive that is below another one."""

    ids_everywhere = False

    def __init__(self, records: NestedRecords, document: Document) -> None:
        self.nested = records
        super().__init__(records, document)

    def is_id(self, text: str) -> bool:
        return self.nested.is_path(text, lambda ids: all(map(is_id, ids)))


def overwrite(
    message: Any, new: Any, paths: Sequence[str], updatable: Sequence[str], *, path: str = "update_mask"
) -> None:
    """Copy the fields of a mask from `new`; without a mask, or with "*", those that `new` has.

    Raises `RpcError` INVALID_ARGUMENT for a field that cannot be updated.
    """
    set_fields = [field.name for field, _ in new.ListFields() if field.name in updatable]
    wanted = set_fields if list(paths) in ([], ["*"]) else list(paths)
    if wrong := [each for each in wanted if each not in updatable]:
        raise invalid_fields(
            [Violation(path, f"{each!r} cannot be updated; {', '.join(updatable)} can.") for each in wrong]
        )
    for name in wanted:
        message.ClearField(name)
        _copy(message, new, name)


def _copy(message: Any, new: Any, name: str) -> None:
    value = getattr(new, name)
    if isinstance(value, Mapping) and not hasattr(value, "DESCRIPTOR"):
        getattr(message, name).update(value)
    elif hasattr(value, "CopyFrom") and hasattr(value, "DESCRIPTOR"):
        if new.HasField(name):
            getattr(message, name).CopyFrom(value)
    else:
        setattr(message, name, value)
