"""Files on gs://, as a user of Polars reads and writes them."""

from __future__ import annotations

import polars as pl
import pytest


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> str:
    return f"gs://of-polars/{request.node.name}"


FRAME = pl.DataFrame({"n": range(1000), "kind": ["odd" if n % 2 else "even" for n in range(1000)]})


def test_parquet(folder: str) -> None:
    FRAME.write_parquet(f"{folder}/a.parquet")
    assert pl.read_parquet(f"{folder}/a.parquet").equals(FRAME)
    assert pl.scan_parquet(f"{folder}/a.parquet").filter(pl.col("n") > 997).collect()["n"].to_list() == [
        998,
        999,
    ]


def test_overwrite(folder: str) -> None:
    FRAME.write_parquet(f"{folder}/a.parquet")
    FRAME.head(1).write_parquet(f"{folder}/a.parquet")
    assert pl.read_parquet(f"{folder}/a.parquet").height == 1


def test_sink_of_many_row_groups(folder: str) -> None:
    frame = pl.select(pl.int_range(3_000_000).alias("n"))
    frame.lazy().sink_parquet(f"{folder}/large.parquet", row_group_size=100_000, compression="uncompressed")
    found = pl.scan_parquet(f"{folder}/large.parquet").select(pl.col("n").sum()).collect().item()
    assert found == frame["n"].sum()


def test_patterns(folder: str) -> None:
    for part in range(3):
        FRAME.write_parquet(f"{folder}/part={part}/a b.parquet")
    assert pl.scan_parquet(f"{folder}/**/*.parquet").select(pl.len()).collect().item() == 3000
    parts = pl.scan_parquet(folder + "/", hive_partitioning=True).filter(pl.col("part") == 2).collect()
    assert (parts.height, parts["part"].unique().to_list()) == (1000, [2])


def test_partitioned_sink(folder: str) -> None:
    FRAME.lazy().sink_parquet(pl.PartitionBy(f"{folder}/", key="kind", include_key=True), mkdir=True)
    assert pl.scan_parquet(f"{folder}/").select(pl.len()).collect().item() == 1000


@pytest.mark.parametrize("kind", ["csv", "ndjson", "ipc"])
def test_other_formats(folder: str, kind: str) -> None:
    address = f"{folder.replace('[', '-').replace(']', '')}/a.{kind}"
    getattr(FRAME.lazy(), f"sink_{kind}")(address)
    assert getattr(pl, f"scan_{kind}")(address).collect().equals(FRAME)


def test_delta(folder: str) -> None:
    FRAME.head(2).write_delta(folder)
    FRAME.head(3).write_delta(folder, mode="append")
    assert pl.read_delta(folder).height == 5
    assert pl.scan_delta(folder, version=0).collect().height == 2


def test_what_is_missing(folder: str) -> None:
    with pytest.raises(Exception, match=r"[Nn]ot found|404|expanded paths were empty"):
        pl.read_parquet(f"{folder}/none.parquet")
    with pytest.raises(Exception, match=r"[Nn]ot found|404"):
        pl.read_parquet("gs://no-such-bucket-here/a.parquet")
