"""The log of changes: each name once, in order, and an honest answer when too much has changed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vertex_emulator.kernel.changes import OTHERS, ChangeLog
from vertex_emulator.kernel.database import connect


@given(st.lists(st.sampled_from("abcdef"), max_size=20), st.lists(st.sampled_from("abcdef"), max_size=20))
def test_a_reader_gets_each_name_that_changed_since_once(before: list[str], since: list[str]) -> None:
    log = ChangeLog()
    log.add(before)
    known = log.after(None)
    assert known.names is None and known.number == len(before)
    log.add(since)
    found = log.after(known.number)
    assert found.names is not None and sorted(found.names) == sorted(set(since))
    assert [since[::-1].index(name) for name in found.names] == sorted(
        (since[::-1].index(name) for name in set(since)), reverse=True
    )
    assert log.after(found.number).names == ()


def test_a_reader_that_is_too_late_reads_everything() -> None:
    log = ChangeLog(kept=2)
    log.add("ab")
    assert log.after(0).names == ("a", "b")
    log.add("c")
    assert log.after(0).names is None and log.after(1).names == ("b", "c")
    assert log.after(99).names is None


def test_a_change_is_seen_once_it_is_committed(tmp_path: Path) -> None:
    database = connect(tmp_path / "db")
    database.migrate("t", ["CREATE TABLE t (n INTEGER PRIMARY KEY);"])
    known, changes = database.change_log.number, database.changes
    with database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        database.note("t/1")
        assert (database.change_log.number, database.changes) == (known, changes)
    assert database.change_log.after(known).names == ("t/1",)
    known = database.change_log.number
    try:
        with database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES (2)")
            database.note("t/2")
            raise ValueError
    except ValueError:
        pass
    assert database.change_log.after(known).names == ()
    database.execute("INSERT INTO t VALUES (3)")
    assert database.change_log.after(known).names == (OTHERS,)
    database.close()
