"""The lock that is taken before a transaction of the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertex_emulator.kernel.database import Database, OuterLock


def test_within_a_transaction_it_is_refused_before_it_is_taken(tmp_path: Path) -> None:
    database = Database(tmp_path / "database")
    lock = OuterLock(database)
    with lock, database.transaction():
        pass
    with database.transaction(), pytest.raises(RuntimeError, match="before a transaction"), lock:
        pass
    with lock:  # nobody holds it
        pass
    database.close()
