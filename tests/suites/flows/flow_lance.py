"""Lance datasets on gs://, as a user of pylance makes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import lance
import pyarrow as pa
import pytest


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    return f"gs://of-lance/datasets/{request.node.name}.lance"


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64()), "name": [f"row {n}" for n in numbers]})


def numbers(dataset: lance.LanceDataset) -> list[int]:
    return sorted(dataset.to_table()["n"].to_pylist())


def test_append_and_overwrite(address: str) -> None:
    lance.write_dataset(rows(1, 2), address)
    lance.write_dataset(rows(3), address, mode="append")
    assert numbers(lance.dataset(address)) == [1, 2, 3]
    lance.write_dataset(rows(9), address, mode="overwrite")
    assert numbers(lance.dataset(address)) == [9]


def test_a_dataset_that_exists_is_an_error(address: str) -> None:
    lance.write_dataset(rows(1), address)
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(2), address)


def test_time_travel_and_tags(address: str) -> None:
    for number in (1, 2, 3):
        lance.write_dataset(rows(number), address, mode="append" if number > 1 else "create")
    assert numbers(lance.dataset(address, version=2)) == [1, 2]
    lance.dataset(address).tags.create("first", 1)
    assert numbers(lance.dataset(address, version="first")) == [1]
    assert [each["version"] for each in lance.dataset(address).versions()] == [1, 2, 3]
    lance.dataset(address, version=1).restore()
    assert numbers(lance.dataset(address)) == [1]


def test_update_delete_and_merge(address: str) -> None:
    dataset = lance.write_dataset(rows(1, 2, 3), address)
    dataset.update({"n": "n + 10"}, where="n = 3")
    dataset.delete("n = 2")
    dataset.merge_insert("n").when_not_matched_insert_all().execute(rows(1, 7))
    assert numbers(lance.dataset(address)) == [1, 7, 13]


def test_random_access(address: str) -> None:
    dataset = lance.write_dataset(rows(*range(10_000)), address, max_rows_per_file=2_000)
    assert dataset.take([9_999, 1, 5_000])["n"].to_pylist() == [9_999, 1, 5_000]
    assert dataset.count_rows("n >= 9000") == 1_000


def test_concurrent_appends(address: str) -> None:
    lance.write_dataset(rows(0), address)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: lance.write_dataset(rows(n), address, mode="append"), range(1, 9)))
    dataset = lance.dataset(address)
    assert (numbers(dataset), dataset.version) == (list(range(9)), 9)


def test_compaction_and_cleanup(address: str) -> None:
    for number in range(4):
        lance.write_dataset(rows(number), address, mode="append" if number else "create")
    dataset = lance.dataset(address)
    assert dataset.optimize.compact_files().fragments_removed == 4
    removed = dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)
    assert removed.old_versions >= 4
    assert numbers(lance.dataset(address)) == [0, 1, 2, 3]


def test_an_index(address: str) -> None:
    dataset = lance.write_dataset(rows(*range(1000)), address)
    dataset.create_scalar_index("n", "BTREE")
    assert lance.dataset(address).to_table(filter="n = 500")["name"].to_pylist() == ["row 500"]


def test_new_columns(address: str) -> None:
    dataset = lance.write_dataset(rows(1, 2), address)
    dataset.add_columns({"twice": "n * 2"})
    dataset.drop_columns(["name"])
    assert lance.dataset(address).to_table().to_pydict() == {"n": [1, 2], "twice": [2, 4]}
