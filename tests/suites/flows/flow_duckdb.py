"""Files on gs://, as a user of DuckDB's httpfs extension reads and writes them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import duckdb_extension_httpfs
import pytest

_EXTENSION = next(Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension"))


@pytest.fixture(params=["token", "key"])
def database(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    """Return a database with one of the two kinds of secret that the extension has for gs://."""
    database = duckdb.connect()
    database.execute(f"LOAD '{_EXTENSION}'")
    # Its libcurl reads no variable for this.
    database.execute(f"SET ca_cert_file = '{os.environ['SSL_CERT_FILE']}'")
    if request.param == "token":
        token = os.environ["VERTEX_EMULATOR_TOKEN"]
        database.execute(f"CREATE SECRET (TYPE gcs, BEARER_TOKEN '{token}')")
    else:
        key = json.loads(Path(os.environ["VERTEX_EMULATOR_SIGNING_KEY"]).read_text())
        secret = f"KEY_ID '{key['hmac_access_id']}', SECRET '{key['hmac_secret']}'"
        database.execute(f"CREATE SECRET (TYPE gcs, {secret})")
    return database


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> str:
    return f"gs://of-duckdb/{request.node.name.replace('[', '-').replace(']', '')}"


def test_parquet(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    database.execute(f"COPY (SELECT range AS n FROM range(1000)) TO '{folder}/a b.parquet'")
    assert database.sql(f"SELECT sum(n) FROM '{folder}/a b.parquet'").fetchall() == [(499_500,)]


def test_patterns(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    for part in range(3):
        database.execute(f"COPY (SELECT {part} AS part) TO '{folder}/{part}.csv'")
    assert database.sql(f"SELECT count(*) FROM '{folder}/*.csv'").fetchall() == [(3,)]


def test_partitions(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    query = "SELECT range AS n, range % 3 AS part FROM range(99)"
    database.execute(f"COPY ({query}) TO '{folder}' (FORMAT parquet, PARTITION_BY part)")
    found = database.sql(f"SELECT count(*) FROM read_parquet('{folder}/*/*.parquet') WHERE part = 1")
    assert found.fetchall() == [(33,)]


def test_a_large_file(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    query = "SELECT hash(range) AS n FROM range(4000000)"
    database.execute(f"COPY ({query}) TO '{folder}/large.parquet'")
    assert database.sql(f"SELECT count(*) FROM '{folder}/large.parquet'").fetchall() == [(4_000_000,)]
    assert database.sql(
        f"SELECT sum(n) = (SELECT sum(n) FROM ({query})) FROM '{folder}/large.parquet'"
    ).fetchall() == [(True,)]


def test_what_is_missing(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    with pytest.raises(duckdb.Error, match=r"404|No files found"):
        database.sql(f"SELECT * FROM '{folder}/none.parquet'").fetchall()
