"""The emulator's SQLite database, shared by its services, and a cache of what was read from it.

With the write-ahead log, readers do not wait for the one writer. With `synchronous=NORMAL`, a commit survives
the death of any process; after a power failure the file is intact, but the last commits may be missing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from vertex_emulator.kernel.changes import OTHERS, ChangeLog
from vertex_emulator.kernel.disk.data_folder import no_room
from vertex_emulator.kernel.disk.disk_space import LITTLE, free_bytes, is_out_of_space
from vertex_emulator.kernel.disk.reserve import Reserve
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts

_IDLE_READERS = 4


class DatabaseError(Exception):
    """The database cannot be used; the message has the remedy."""


class DatabaseClosedError(Exception):
    """The database was closed: the emulator has stopped."""


class OuterLock:
    """A lock that a thread takes before a transaction of the database, never within one.

    Two threads that take both in opposite orders wait for each other. Raises `RuntimeError` instead.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if self._database.writes_here:
            raise RuntimeError("this lock is taken before a transaction, never within one")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Database:
    """Thread-safe access to the database: one connection that writes, under a lock, and several that read."""

    def __init__(self, path: Path, *, timeouts: DaemonTimeouts = DAEMON) -> None:
        self.path = path
        self._timeouts = timeouts
        self.reserve = Reserve(path.with_name(f"{path.name}.reserve"))
        self._writing = threading.RLock()
        self._in_transaction = False
        self._owner: int | None = None
        """The thread of the transaction."""
        self._commits = 0
        self._copied = 0
        """The number of commits up to the last checkpoint."""
        self._changes = 0
        self._noted: list[str] = []
        self._after: list[Callable[[], object]] = []
        self.change_log = ChangeLog()
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = threading.Lock()
        self._closed = False
        self._is_read_only = False
        self.reserve.make_room()
        # SQLite gives its other files the same mode. A data folder that others can enter keeps its own.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._writer = self._connect()
        self._writer.execute("PRAGMA journal_mode=WAL").fetchone()
        self._writer.execute(
            "CREATE TABLE IF NOT EXISTS schema_versions "
            "(component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
        )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._timeouts.database, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def migrate(self, component: str, scripts: Sequence[str]) -> None:
        """Bring the tables of `component` up to date: script n leads from version n to n + 1.

        A released script is never edited; a change is a further script. Raises `DatabaseError` if a newer
        emulator wrote the file.
        """
        with self.transaction() as connection:
            row = connection.execute(
                "SELECT version FROM schema_versions WHERE component = ?", (component,)
            ).fetchone()
            version = int(row["version"]) if row else 0
            if version > len(scripts):
                raise DatabaseError(
                    f"{self.path} was written by a newer emulator (schema {version} of {component}; this one "
                    f"knows up to {len(scripts)}). Install the newer version, or choose another data folder."
                )
            for script in scripts[version:]:
                for statement in _statements(script):
                    connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_versions VALUES (?, ?) "
                "ON CONFLICT (component) DO UPDATE SET version = excluded.version",
                (component, len(scripts)),
            )

    @property
    def commits(self) -> int:
        """The number of commits so far. What was read after taking it is current while it is the same."""
        return self._commits

    @property
    def changes(self) -> int:
        """The number of rows that this process has committed; a commit that wrote nothing adds none."""
        return self._changes

    def note(self, name: str) -> None:
        """Name what the running transaction changes, for the log of changes."""
        self._noted.append(name)

    @property
    def writes_here(self) -> bool:
        """True within a transaction of this thread."""
        return self._owner == threading.get_ident()

    def after_commit(self, call: Callable[[], object]) -> None:
        """Call a function once the transaction of this thread is committed; at once without one."""
        if self.writes_here:
            self._after.append(call)
        else:
            call()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection inside one transaction; an exception rolls it back.

        Within a transaction of the same thread it joins that one. Raises `DatabaseClosedError`.
        """
        with self._writing:
            if self._is_read_only:
                raise DatabaseClosedError
            if self._in_transaction:
                yield self._writer
                return
            self.reserve.make_room()
            self._writer.execute("BEGIN IMMEDIATE")
            self._in_transaction = True
            self._owner = threading.get_ident()
            self._noted, self._after = [], []
            try:
                yield self._writer
            except BaseException:
                self._in_transaction = False
                self._owner = None
                if self._writer.in_transaction:  # SQLite itself rolls back on a full disk
                    self._writer.execute("ROLLBACK")
                raise
            self._in_transaction = False
            self._owner = None
            try:
                self.reserve.make_room()
                self._writer.execute("COMMIT")
            except sqlite3.Error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._commits += 1  # after the commit, and before the caller reports it
            if self._changes != self._writer.total_changes:
                self._changes = self._writer.total_changes
                self.change_log.add(dict.fromkeys(self._noted or (OTHERS,)))
            after = self._after
        for call in after:
            call()

    def back_up(self, target: sqlite3.Connection) -> None:
        """Copy all that is committed into another database, while this one is used."""
        with self.reading() as source:
            source.backup(target)

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the database. On a full disk, do nothing."""
        if self._commits != self._copied:
            with self._writing, suppress(sqlite3.Error):
                if not self._in_transaction:
                    commits = self._commits
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                    self._copied = commits

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Run one writing statement in a transaction. Return the number of rows changed."""
        with self.transaction() as connection:
            return connection.execute(sql, parameters).rowcount

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for reading, which sees committed transactions only."""
        with self._readers_lock:
            connection = self._readers.pop() if self._readers else None
        connection = connection or self._connect()
        try:
            yield connection
        finally:
            with self._readers_lock:
                if keep := not self._closed and len(self._readers) < _IDLE_READERS:
                    self._readers.append(connection)
            if not keep:
                connection.close()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with self.reading() as connection:
            return connection.execute(sql, parameters).fetchall()

    def own_rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query, with what the transaction of this thread has written."""
        if self.writes_here:
            return self._writer.execute(sql, parameters).fetchall()
        return self.rows(sql, parameters)

    def tuples(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query without the names of their columns, which is faster for many rows."""
        with self.reading() as connection:
            cursor = connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Row | None:
        """Return the first row of a query, or None if it has no rows."""
        with self.reading() as connection:
            first: sqlite3.Row | None = connection.execute(sql, parameters).fetchone()
            return first

    def close(self) -> None:
        """Close all connections. A reader in use is closed once it is released."""
        with self._readers_lock:
            self._closed = True
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()
        with self._writing:
            self._is_read_only = True
            self._writer.close()


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for piece in script.split(";"):
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip(" \n;"):
        yield statement


def connect(path: Path, *, timeouts: DaemonTimeouts = DAEMON) -> Database:
    """Open the database at `path`, creating it when missing. Raises `DatabaseError`."""
    try:
        return Database(path, timeouts=timeouts)
    except (sqlite3.Error, OSError) as error:
        if is_out_of_space(error) or free_bytes(path.parent) < LITTLE:  # the latter may be an "I/O error"
            raise DatabaseError(str(no_room(path))) from error
        raise DatabaseError(
            f"The emulator's database {path} cannot be opened: {error}. Check that the folder is writable. "
            "If the file is damaged, move it away or choose another data folder."
        ) from error


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ReadCache(Generic[K, V]):
    """Values that follow from their key and the committed state of the database. Safe for threads.

    `size` estimates the bytes of a value. The oldest values leave so that all are at most `most` bytes.
    """

    def __init__(self, database: Database, *, size: Callable[[V], int], most: int) -> None:
        self._database = database
        self._size = size
        self._most = most
        self._lock = threading.Lock()
        self._commits = -1
        self._values: dict[K, V] = {}
        self._total = 0

    def get(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of a key, which is `read()` if it is not known. Nobody may change the value."""
        with self._lock:
            commits = self._database.commits
            if commits != self._commits:
                self._values.clear()
                self._commits, self._total = commits, 0
            elif (known := self._values.get(key)) is not None:
                return known
        value = read()
        size = self._size(value)
        with self._lock:
            if self._commits == commits and size <= self._most and key not in self._values:
                self._values[key] = value
                self._total += size
                while self._total > self._most:
                    self._total -= self._size(self._values.pop(next(iter(self._values))))
        return value
