"""The database of a snapshot: what is copied, and the checks of a copy that somebody else made."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from vertex_emulator.daemon.archive.tar import ArchiveError
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine import names

LEFT_OUT = frozenset(
    {
        "schema_versions",
        # Settings of tests.
        *("settings", "denied_permissions", "service_states", "quotas", "capacities"),
        # A snapshot of somebody else must not open Google's hosts to the programs of its reader.
        "allowed_hosts",
        # Work that an import does not resume. Schedules would start jobs.
        *("operations", "waiting_jobs", "persistent_resource_changes"),
        *("schedules", "scheduler_calls"),
        *("storage_uploads", "storage_multipart_uploads", "storage_multipart_parts", "registry_uploads"),
        *("notification_deliveries", "notification_strangers", "tensorboard_uploads"),
    }
)
BUCKETS, OBJECTS = "storage_buckets", "storage_objects"
CHECKED = frozenset({BUCKETS, OBJECTS})
"""The tables whose rows are checked one by one, and not copied as they are."""

_JOB_ID = re.compile(r"[0-9]{1,19}")
_TYPES = {"TEXT": "text", "INTEGER": "integer", "BLOB": "blob", "REAL": "real"}


def versions(database: Database) -> dict[str, int]:
    """Return the version of the tables of each part of the emulator."""
    rows = database.rows("SELECT component, version FROM schema_versions ORDER BY component")
    return {row["component"]: row["version"] for row in rows}


def copied(database: Database, *, without: Collection[str] = ()) -> list[str]:
    """Return the tables that a snapshot has, a table before those that refer to it."""
    rows = database.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
    )
    return [row["name"] for row in rows if row["name"] not in (*LEFT_OUT, *without)]


def copy(database: Database, path: Path) -> sqlite3.Connection:
    """Copy the database to a new file, without what a snapshot leaves out. Return the connection to it."""
    connection = sqlite3.connect(path, isolation_level=None)
    database.back_up(connection)
    connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    for table in sorted(LEFT_OUT - {"schema_versions"}):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
    connection.execute(f"DELETE FROM {OBJECTS}")  # noqa: S608
    connection.execute("DELETE FROM storage_buckets WHERE soft_deleted IS NOT NULL")
    # Snapshots are passed on, as fixtures and in bug reports; a secret's value can be added again.
    connection.execute("UPDATE secret_versions SET payload = NULL")
    return connection


class Copy:
    """The checked database of a snapshot. It is not trusted."""

    def __init__(self, path: Path, database: Database) -> None:
        """Open and check the copy. Raises `ArchiveError`."""
        self._connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA trusted_schema=OFF")
            self._check(database)
        except sqlite3.DatabaseError as error:
            self.close()
            raise ArchiveError(f"its database is damaged: {error}.") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def rows(self, table: str) -> Iterable[sqlite3.Row]:
        """Return the rows of a table, which are read one by one."""
        return self._connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name of ours

    def add_to(self, connection: sqlite3.Connection, tables: Sequence[str]) -> Mapping[str, int]:
        """Add the rows of the tables, which are empty, in a transaction. Return the numbers of rows."""
        counts = {}
        for table in tables:
            places = ", ".join("?" * len(self._columns(table)))
            rows = (tuple(row) for row in self.rows(table))
            counts[table] = connection.executemany(
                f"INSERT INTO {table} VALUES ({places})",  # noqa: S608
                rows,
            ).rowcount
        return counts

    def _check(self, database: Database) -> None:
        # With equal definitions it has no view or trigger, which could run SQL of its own.
        if _definitions(self._connection.execute(_MASTER)) != _definitions(database.rows(_MASTER)):
            raise ArchiveError("its database has other tables than this emulator's.")
        (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise ArchiveError(f"its database is damaged: {found}.")
        for table in copied(database):
            self._check_types(table)
            columns = self._columns(table)
            if {"message", "project", "location"} <= columns.keys():
                self._check_places(table)
        for row in self.rows("custom_jobs"):
            if not _JOB_ID.fullmatch(row["id"]):
                raise ArchiveError(f"{row['id']!r} is not the id of a job.")

    def _columns(self, table: str) -> Mapping[str, str]:
        return {row["name"]: row["type"] for row in self._connection.execute(f"PRAGMA table_info({table})")}

    def _check_types(self, table: str) -> None:
        for name, kind in self._columns(table).items():
            (wrong,) = self._connection.execute(
                f"SELECT count(*) FROM {table} WHERE typeof({name}) NOT IN ('null', ?)",  # noqa: S608
                (_TYPES[kind],),
            ).fetchone()
            if wrong:
                raise ArchiveError(f"its column {table}.{name} has values that are not {kind}.")

    def _check_places(self, table: str) -> None:
        for project, location in self._connection.execute(
            f"SELECT DISTINCT project, location FROM {table}"  # noqa: S608
        ):
            try:
                names.read_place(project, location)
            except RpcError as error:
                raise ArchiveError(f"its table {table}: {error.message}") from error


_MASTER = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def _definitions(rows: Sequence[sqlite3.Row] | sqlite3.Cursor) -> set[tuple[object, ...]]:
    return {tuple(row) for row in rows}


def occupied(database: Database) -> list[str]:
    """Return the tables of a snapshot that have rows in this emulator, in words."""
    return [
        table.replace("_", " ")
        for table in copied(database)
        if database.row(f"SELECT 1 FROM {table} LIMIT 1") is not None  # noqa: S608 - names of ours
    ]
