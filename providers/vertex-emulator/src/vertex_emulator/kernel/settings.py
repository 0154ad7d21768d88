"""Settings of tests that the data folder keeps: the rows of a table, and the same in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Generic, TypeVar

from vertex_emulator.kernel.database import Database

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Key = tuple[str, ...]
T = TypeVar("T", bound="DataclassInstance")


class Settings(Generic[T]):
    """The settings of one kind: a dataclass, whose fields are the columns of `table` in the same order.

    The first `keys` fields, which are strings, are the key by which one setting replaces another. `changed`
    is called after a setting was set or removed. Safe for threads; readers do not wait.
    """

    def __init__(
        self,
        database: Database,
        kind: type[T],
        *,
        table: str,
        schema: Sequence[str],
        keys: int,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._table = table
        self._keys = [each.name for each in fields(kind)[:keys]]
        self._changed = changed
        self._lock = threading.Lock()
        database.migrate(table, schema)
        names = [each.name for each in fields(kind)]
        rows = database.rows(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608 - a name of ours
        stored = (kind(**dict(zip(names, row, strict=True))) for row in rows)
        self._known: Mapping[Key, T] = {self._key(each): each for each in stored}

    def by_key(self) -> Mapping[Key, T]:
        """Return the settings, oldest first."""
        return self._known

    def all(self) -> Sequence[T]:
        """Return the settings, oldest first."""
        return list(self._known.values())

    def set(self, setting: T) -> None:
        """Set one, in place of the one with the same key."""
        values = astuple(setting)
        with self._lock:
            self._database.execute(
                f"REPLACE INTO {self._table} VALUES ({', '.join('?' * len(values))})",  # noqa: S608
                values,
            )
            key = self._key(setting)
            self._known = {**{each: self._known[each] for each in self._known if each != key}, key: setting}
        self._changed()

    def remove(self, **values: str) -> int:
        """Remove all settings, or those whose fields have these values. Return their number."""
        with self._lock:
            gone = [
                key
                for key, each in self._known.items()
                if all(getattr(each, name) == value for name, value in values.items())
            ]
            condition = " AND ".join(f"{name} = ?" for name in self._keys)
            with self._database.transaction() as connection:
                connection.executemany(f"DELETE FROM {self._table} WHERE {condition}", gone)  # noqa: S608
            self._known = {key: each for key, each in self._known.items() if key not in gone}
        self._changed()
        return len(gone)

    def _key(self, setting: T) -> Key:
        return tuple(getattr(setting, name) for name in self._keys)
