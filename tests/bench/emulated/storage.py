"""Cloud Storage on the emulator, next to gcp-storage-emulator from PyPI."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from comparison import against, in_turns, seconds
from emulated.servers import Peer, emulator, gcp_storage_emulator
from figure import Figure

from support.emulated.emulator import storage_client
from vertex_emulator.client.launcher import Emulator

MEGABYTES = 100
LISTED = 100_000
_FOLDERS = LISTED // 1000
"""Folders that programs make are objects, too: `folder-000/`."""
_PAGE = 1000
_SMALL = 300


def figures() -> Iterator[Figure]:
    with emulator() as own, gcp_storage_emulator() as peer:
        urls = {"ours": own.storage_url, **({peer.name: peer.url} if peer.url else {})}
        missing = [f"{peer.name}: {peer.why_not}"] if peer.why_not else []
        for url in urls.values():
            with storage_client(url) as client:
                client.create_bucket("bench")
        yield from _large_object(urls, missing)
        yield from _small_requests(urls, missing)
        yield from _short_listing(urls, missing)
        yield from _long_listing(own, peer)


def _large_object(urls: Mapping[str, str], missing: list[str]) -> Iterator[Figure]:
    """Measure transfers from file to file with Google's client, including checksums."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.write_bytes(os.urandom(MEGABYTES * 1_000_000))

        def up(url: str) -> float:
            with storage_client(url) as client:
                return seconds(lambda: client.bucket("bench").blob("large").upload_from_filename(str(source)))

        def down(url: str) -> float:
            target = Path(folder, "target")
            with storage_client(url) as client:
                took = seconds(lambda: client.bucket("bench").blob("large").download_to_filename(str(target)))
            assert target.stat().st_size == source.stat().st_size
            return took

        for name, action in (("up", up), ("down", down)):
            took = in_turns({who: _at(action, url) for who, url in urls.items()}, rounds=5)
            yield against(f"storage: {MEGABYTES} MB object {name}, Google's client", took, missing=missing)


def _small_requests(urls: Mapping[str, str], missing: list[str]) -> Iterator[Figure]:
    """Measure small requests with little client overhead, on one connection if the server keeps it open."""
    numbers = itertools.count()

    def read(ask: Ask) -> None:
        ask("GET", "/storage/v1/b/bench/o/small", b"")

    def write(ask: Ask) -> None:
        ask("POST", f"/upload/storage/v1/b/bench/o?uploadType=media&name=many-{next(numbers)}", b"x" * 1024)

    def many(act: Callable[[Ask], None], url: str) -> float:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

        def ask(method: str, path: str, body: bytes) -> None:
            connection.request(method, parts.path + path, body=body or None)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, (path, answer.status)

        try:
            return seconds(lambda: [act(ask) for _ in range(_SMALL)]) / _SMALL
        finally:
            connection.close()

    for url in urls.values():
        with storage_client(url) as client:
            client.bucket("bench").blob("small").upload_from_string("small")
    for name, act in (("an object's metadata read", read), ("an object of 1 KB stored", write)):
        took = in_turns(
            {who: _at(lambda url, act=act: many(act, url), url) for who, url in urls.items()}, rounds=5
        )
        yield Figure(
            name=f"storage: {name}, on one connection",
            value=1 / took["ours"],
            unit="/s",
            budget=1000 if act is read else None,
            higher_is_better=True,
        )
        yield against(f"storage: {name}", took, missing=missing, scale=1000, unit="ms", budget=None)


def _short_listing(urls: Mapping[str, str], missing: list[str]) -> Iterator[Figure]:
    """Measure a list of as many objects as fit one page, since the peer has no pages.

    The emulator keeps the text of a list that is asked for again, until a record changes.
    """
    for url in urls.values():
        with storage_client(url) as client:
            bucket = client.create_bucket("bench-listed")
            for number in range(_PAGE):
                bucket.blob(f"folder/{number:04}").upload_from_string("x")

    def listed(url: str) -> float:
        with storage_client(url) as client:
            return seconds(lambda: _counted(client.list_blobs("bench-listed"), _PAGE))

    def listed_after_change(url: str) -> float:
        with storage_client(url) as client:
            client.bucket("bench-listed").blob("folder/0000").upload_from_string("x")
        return listed(url)

    for name, action in (("listed", listed), ("listed after a change", listed_after_change)):
        took = in_turns({who: _at(action, url) for who, url in urls.items()}, rounds=5)
        name = f"storage: {_PAGE:,} objects {name}, Google's client"
        yield against(name, took, missing=missing, scale=1000, unit="ms", budget=None)


def _long_listing(own: Emulator, peer: Peer) -> Iterator[Figure]:
    """Measure paged lists of files that programs wrote; the first lookup finds them."""
    with storage_client(own.storage_url) as client:
        client.create_bucket("bench-many")
        folder = own.data_dir / "buckets" / "bench-many"
        for number in range(LISTED):
            below = folder / f"folder-{number // 1000:03}"
            if number % 1000 == 0:
                below.mkdir()
            os.mknod(below / f"object-{number:06}")
        yield Figure(
            name=f"storage: {LISTED:,} new files under /gcs become objects",
            value=seconds(lambda: next(iter(client.list_blobs("bench-many", page_size=1)))),
            unit="s",
        )
        yield Figure(
            name=f"storage: {LISTED:,} objects listed in pages of {_PAGE:,}",
            value=min(_pages(own.storage_url) for _ in range(5)),
            unit="s",
            budget=2.0,
            note=f"{peer.name.partition(' ')[0]} has no pages",
        )
        yield Figure(
            name="storage: the same with Google's client, an object of Python for each",
            value=min(
                seconds(lambda: _counted(client.list_blobs("bench-many"), LISTED + _FOLDERS))
                for _ in range(3)
            ),
            unit="s",
        )


def _pages(url: str) -> float:
    """Return the seconds of a list on one connection; each page is parsed as JSON."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def read() -> None:
        count, token = 0, ""
        while True:
            path = f"{parts.path}/storage/v1/b/bench-many/o?maxResults={_PAGE}"
            connection.request("GET", path + (f"&pageToken={token}" if token else ""))
            page = json.loads(connection.getresponse().read())
            count += len(page["items"])
            token = page.get("nextPageToken", "")
            if not token:
                break
        assert count == LISTED + _FOLDERS, count

    try:
        return seconds(read)
    finally:
        connection.close()


Ask = Callable[[str, str, bytes], None]


def _at(action: Callable[[str], float], url: str) -> Callable[[], float]:
    return lambda: action(url)


def _counted(found: Iterator[object], expected: int) -> None:
    count = sum(1 for _ in found)
    assert count == expected, count
