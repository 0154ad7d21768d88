"""The cache of what was read from the database, between two commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vertex_emulator.kernel.database import Database, ReadCache, connect


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = connect(tmp_path / "db")
    database.migrate("t", ["CREATE TABLE t (n INTEGER PRIMARY KEY);"])
    yield database
    database.close()


class Reads:
    """A cache of the numbers in the table, which counts the queries."""

    def __init__(self, database: Database, *, most: int = 1000) -> None:
        self.database = database
        self.count = 0
        self.cache: ReadCache[str, list[int]] = ReadCache(database, size=len, most=most)

    def read(self) -> list[int]:
        self.count += 1
        return [row["n"] for row in self.database.rows("SELECT n FROM t ORDER BY n")]

    def get(self, key: str = "") -> list[int]:
        return self.cache.get(key, self.read)


def test_a_value_is_read_once_between_commits(database: Database) -> None:
    reads = Reads(database)
    assert (reads.get(), reads.get(), reads.count) == ([], [], 1)
    database.execute("INSERT INTO t VALUES (1)")
    assert (reads.get(), reads.get(), reads.count) == ([1], [1], 2)
    with database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (2)")
        assert reads.get() == [1], "not committed yet"
    assert reads.get() == [1, 2]


def test_rows_that_were_written_are_counted_and_empty_commits_are_not(database: Database) -> None:
    before = database.changes
    database.execute("INSERT INTO t VALUES (1)")
    once = database.changes
    database.execute("UPDATE t SET n = 2 WHERE n = 7")
    with database.transaction() as connection:
        connection.execute("SELECT n FROM t").fetchall()
    assert before < once == database.changes


def test_a_transaction_that_fails_changes_no_value(database: Database) -> None:
    reads = Reads(database)
    database.execute("INSERT INTO t VALUES (1)")
    assert reads.get() == [1]
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (2)")
        raise ZeroDivisionError
    assert reads.get() == [1]


def test_a_commit_during_the_read(database: Database) -> None:
    """Commit after the query: its result is returned, and the next caller reads again."""
    reads = Reads(database)

    def slow() -> list[int]:
        found = reads.read()
        database.execute("INSERT INTO t VALUES (1)")
        return found

    assert reads.cache.get("", slow) == []
    assert reads.get() == [1]


def test_the_oldest_values_leave(database: Database) -> None:
    database.execute("INSERT INTO t VALUES (1), (2), (3)")
    reads = Reads(database, most=7)  # two values of three numbers
    for key in ("a", "b", "c"):
        reads.get(key)
    assert reads.count == 3
    reads.get("b"), reads.get("c")
    assert reads.count == 3
    reads.get("a")
    assert reads.count == 4


def test_a_value_that_is_too_large_stays_out(database: Database) -> None:
    database.execute("INSERT INTO t VALUES (1), (2), (3)")
    reads = Reads(database, most=2)
    reads.get(), reads.get()
    assert reads.count == 2
