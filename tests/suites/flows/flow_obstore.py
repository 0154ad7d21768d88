"""Objects on gs://, as a user of obstore reads and writes them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.fsspec import FsspecStore
from obstore.store import GCSStore


@pytest.fixture
def store(request: pytest.FixtureRequest) -> GCSStore:
    return GCSStore("of-obstore", prefix=request.node.name)


def names(store: GCSStore) -> list[str]:
    return sorted(each["path"] for each in obstore.list(store).collect())


def test_put_get_and_head(store: GCSStore) -> None:
    put = obstore.put(store, "a/b c-ä.txt", b"hello", attributes={"Content-Type": "text/plain", "kind": "x"})
    found = obstore.get(store, "a/b c-ä.txt")
    assert (bytes(found.bytes()), found.meta["e_tag"]) == (b"hello", put["e_tag"])
    assert (found.attributes["Content-Type"], found.attributes["kind"]) == ("text/plain", "x")
    assert obstore.head(store, "a/b c-ä.txt")["size"] == 5
    assert bytes(obstore.get_range(store, "a/b c-ä.txt", start=1, end=3)) == b"el"
    assert [bytes(each) for each in obstore.get_ranges(store, "a/b c-ä.txt", starts=[0, 4], ends=[1, 5])] == [
        b"h",
        b"o",
    ]


def test_conditions(store: GCSStore) -> None:
    put = obstore.put(store, "a", b"1", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a", b"2", mode="create")
    mode = {"e_tag": put["e_tag"], "version": put["version"]}
    obstore.put(store, "a", b"2", mode=mode)
    with pytest.raises(PreconditionError):
        obstore.put(store, "a", b"3", mode=mode)
    assert bytes(obstore.get(store, "a").bytes()) == b"2"


def test_list_delete_and_folders(store: GCSStore) -> None:
    for name in ("a/1", "a/2", "b/1", "c"):
        obstore.put(store, name, b"")
    assert [each["path"] for each in obstore.list(store, offset="a/1").collect()] == ["a/2", "b/1", "c"]
    found = obstore.list_with_delimiter(store)
    assert (sorted(found["common_prefixes"]), [each["path"] for each in found["objects"]]) == (
        ["a", "b"],
        ["c"],
    )
    obstore.delete(store, ["a/1", "a/2", "c"])
    assert names(store) == ["b/1"]


def test_many_objects(store: GCSStore) -> None:
    async def put() -> None:
        for start in range(0, 1100, 100):
            names = (f"{n:04}" for n in range(start, start + 100))
            await asyncio.gather(*(obstore.put_async(store, name, b"x") for name in names))

    asyncio.run(put())
    assert len(names(store)) == 1100
    obstore.delete(store, names(store))
    assert names(store) == []


def test_copy_and_rename(store: GCSStore) -> None:
    obstore.put(store, "a", b"1")
    obstore.copy(store, "a", "b")
    obstore.rename(store, "a", "c")
    with pytest.raises(AlreadyExistsError):
        obstore.copy(store, "b", "c", overwrite=False)
    with pytest.raises(FileNotFoundError):
        obstore.copy(store, "a", "d")
    assert names(store) == ["b", "c"]


def test_upload_in_parts(store: GCSStore) -> None:
    with obstore.open_writer(store, "large", buffer_size=5 << 20) as file:
        for _ in range(12):
            file.write(b"x" * (1 << 20))
    assert obstore.head(store, "large")["size"] == 12 << 20


def test_signed_address(store: GCSStore) -> None:
    import os
    import ssl
    import urllib.request

    address = obstore.sign(store, "PUT", "signed", timedelta(minutes=5))
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    request = urllib.request.Request(address, data=b"hello", method="PUT")
    with urllib.request.urlopen(request, context=context) as answer:
        assert answer.status == 200
    assert bytes(obstore.get(store, "signed").bytes()) == b"hello"


def test_file_system() -> None:
    files = FsspecStore("gs")
    files.pipe_file("of-obstore/fsspec/a", b"1")
    files.copy("of-obstore/fsspec/a", "of-obstore/fsspec/b")
    assert sorted(files.ls("of-obstore/fsspec", detail=False)) == [
        "of-obstore/fsspec/a",
        "of-obstore/fsspec/b",
    ]
    files.rm("of-obstore/fsspec/a")
    assert not files.exists("of-obstore/fsspec/a")


def test_what_is_missing(store: GCSStore) -> None:
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "none")
    with pytest.raises(FileNotFoundError):
        obstore.get(GCSStore("no-such-bucket-here"), "none")


def test_a_refusal_is_reported_at_once(store: GCSStore) -> None:
    headers = {"x-goog-encryption-algorithm": "AES256"}
    refused = GCSStore("of-obstore", prefix="refused", client_options={"default_headers": headers})
    with pytest.raises(Exception, match="does not support") as found:
        obstore.put(refused, "a", b"")
    assert "retries: 0," in str(found.value)
