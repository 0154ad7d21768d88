"""Delta Lake tables on gs://, as a user of deltalake makes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    return f"gs://of-delta-rs/tables/{request.node.name}"


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": list(numbers), "even": [n % 2 == 0 for n in numbers]})


def numbers(table: DeltaTable) -> list[int]:
    return sorted(table.to_pyarrow_table()["n"].to_pylist())


def test_append_and_overwrite(address: str) -> None:
    write_deltalake(address, rows(1, 2))
    write_deltalake(address, rows(3), mode="append")
    assert numbers(DeltaTable(address)) == [1, 2, 3]
    write_deltalake(address, rows(9), mode="overwrite")
    assert numbers(DeltaTable(address)) == [9]


def test_a_table_that_exists_is_an_error(address: str) -> None:
    write_deltalake(address, rows(1))
    with pytest.raises(Exception, match="already exists"):
        write_deltalake(address, rows(2), mode="error")
    assert numbers(DeltaTable(address)) == [1]


def test_no_table(address: str) -> None:
    assert not DeltaTable.is_deltatable(address)
    with pytest.raises(Exception, match=r"[Nn]o files in log segment|[Nn]ot a Delta table|No such|not found"):
        DeltaTable(address)


def test_time_travel_and_restore(address: str) -> None:
    for number in (1, 2, 3):
        write_deltalake(address, rows(number), mode="append")
    assert numbers(DeltaTable(address, version=1)) == [1, 2]
    table = DeltaTable(address)
    table.restore(0)
    assert (numbers(DeltaTable(address)), DeltaTable(address).version()) == ([1], 3)


def test_partitions_and_filters(address: str) -> None:
    write_deltalake(address, rows(1, 2, 3, 4), partition_by=["even"])
    table = DeltaTable(address)
    assert sorted(table.to_pyarrow_table(filters=[("even", "=", True)])["n"].to_pylist()) == [2, 4]
    folders = {uri.removeprefix(f"{address}/").partition("/")[0] for uri in table.file_uris()}
    assert folders == {"even=false", "even=true"}


def test_update_delete_and_merge(address: str) -> None:
    write_deltalake(address, rows(1, 2, 3))
    DeltaTable(address).update(updates={"n": "n + 10"}, predicate="n = 3")
    DeltaTable(address).delete("n = 2")
    assert numbers(DeltaTable(address)) == [1, 13]
    merged = DeltaTable(address).merge(rows(1, 7), "s.n = t.n", source_alias="s", target_alias="t")
    merged.when_not_matched_insert_all().when_matched_delete().execute()
    assert numbers(DeltaTable(address)) == [7, 13]


def test_concurrent_appends(address: str) -> None:
    write_deltalake(address, rows(0))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write_deltalake(address, rows(n), mode="append"), range(1, 9)))
    table = DeltaTable(address)
    assert (numbers(table), table.version()) == (list(range(9)), 8)


def test_compact_and_vacuum(address: str) -> None:
    for number in range(4):
        write_deltalake(address, rows(number), mode="append")
    table = DeltaTable(address)
    assert table.optimize.compact()["numFilesRemoved"] == 4
    gone = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert len(gone) == 4
    assert numbers(DeltaTable(address)) == [0, 1, 2, 3]
    with pytest.raises(Exception, match=r"[Nn]ot found|404"):
        numbers(DeltaTable(address, version=2))


def test_checkpoint_and_history(address: str) -> None:
    for number in range(3):
        write_deltalake(address, rows(number), mode="append")
    DeltaTable(address).create_checkpoint()
    write_deltalake(address, rows(3), mode="append")
    table = DeltaTable(address)
    assert (numbers(table), len(table.history())) == ([0, 1, 2, 3], 4)


def test_a_large_table(address: str) -> None:
    count = 3_000_000
    large = pa.table({"n": pa.array(range(count)), "even": pa.array([True] * count)})
    write_deltalake(address, large, target_file_size=4 << 20)
    assert DeltaTable(address).to_pyarrow_table().num_rows == count
