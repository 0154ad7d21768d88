"""Cloud Storage under load: many clients at once, large objects in little memory, kills in the middle."""

from __future__ import annotations

import base64
import http.client
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import google_crc32c
import psutil
import pytest

from support.emulated.emulator import Answer, call, kill, peak_memory, storage_client
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher

MB = 1 << 20
LARGE = 1024
"""MB of a large object."""

BUCKET = "loaded"
OBJECTS = f"/storage/v1/b/{BUCKET}/o"
UPLOADS = f"/upload{OBJECTS}?uploadType=media&name="


def with_bucket(emulator: launcher.Emulator) -> launcher.Emulator:
    assert (
        call(emulator.storage_url, "POST", "/storage/v1/b?project=local", body={"name": BUCKET}).status == 200
    )
    return emulator


def crc32c(content: bytes) -> str:
    return base64.b64encode(google_crc32c.Checksum(content).digest()).decode()


def store(emulator: launcher.Emulator, name: str, content: bytes) -> Answer:
    return call(emulator.storage_url, "POST", UPLOADS + name, body=content)


def test_64_connections(start: Callable[..., launcher.Emulator]) -> None:
    """Open all connections at once; each one uploads an object of its own, then downloads it."""
    emulator = with_bucket(start())
    parts = urlsplit(emulator.storage_url)
    together = threading.Barrier(64, timeout=TIMEOUT)

    def work(number: int) -> tuple[int, int, bool]:
        content = random.Random(number).randbytes(MB)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.connect()
        together.wait()
        try:
            connection.request("POST", f"{parts.path}{UPLOADS}o{number}", body=content)
            stored = connection.getresponse()
            stored.read()
            together.wait()
            connection.request("GET", f"{parts.path}{OBJECTS}/o{number}?alt=media")
            found = connection.getresponse()
            return stored.status, found.status, found.read() == content
        finally:
            connection.close()

    with ThreadPoolExecutor(64) as pool:
        assert set(pool.map(work, range(64))) == {(200, 200, True)}
    names = [item["name"] for item in call(emulator.storage_url, "GET", OBJECTS).json()["items"]]
    assert names == sorted(f"o{number}" for number in range(64))


def pieces(count: int) -> Iterator[bytes]:
    """Yield different blocks of 1 MB each."""
    block = random.Random(count).randbytes(MB)
    for number in range(count):
        yield number.to_bytes(8, "big") + block[8:]


@pytest.mark.slow
def test_an_object_of_1_gb_in_constant_memory(start: Callable[..., launcher.Emulator]) -> None:
    emulator = with_bucket(start())
    before = psutil.Process(emulator.pid).memory_info().rss
    parts = urlsplit(emulator.storage_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    headers = {"Content-Length": str(LARGE * MB)}
    connection.request("POST", f"{parts.path}{UPLOADS}large", body=pieces(LARGE), headers=headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    connection.request("GET", f"{parts.path}{OBJECTS}/large?alt=media")
    response = connection.getresponse()
    assert response.headers["Content-Length"] == str(LARGE * MB)
    for expected in pieces(LARGE):
        assert response.read(MB) == expected
    connection.close()
    assert peak_memory(emulator.pid) - before < 32 * MB


class Load:
    """Clients that store and delete, and remember what they were told.

    `sums`: of every content that was ever sent. `stored` and `deleted`: what the emulator acknowledged.
    """

    def __init__(self, emulator: launcher.Emulator) -> None:
        self.current = emulator
        self.ended = threading.Event()
        self.sums: dict[str, tuple[str, int]] = {}
        self.stored: set[str] = set()
        self.deleted: set[str] = set()
        self._lock = threading.Lock()

    def work(self, worker: int) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            name = f"w{worker}-{number}"
            content = os.urandom(50_000 if number % 8 else 2_000_000)
            with self._lock:
                self.sums[name] = (crc32c(content), len(content))
            if not self._acknowledged(200, partial(store, self.current, name, content)):
                continue
            if number % 5:
                with self._lock:
                    self.stored.add(name)
                continue
            path = f"{OBJECTS}/{name}"
            if self._acknowledged(204, partial(call, self.current.storage_url, "DELETE", path)):
                with self._lock:
                    self.deleted.add(name)

    def _acknowledged(self, status: int, ask: Callable[[], Answer]) -> bool:
        try:
            answer = ask()
        except (OSError, http.client.HTTPException):
            return False  # the emulator does not answer
        if answer.status in (403, 503):  # the next emulator has a new secret already; this one is stopping
            return False
        assert answer.status == status, answer.body
        return True


@pytest.mark.slow
def test_ten_kills_under_load_lose_nothing(start: Callable[..., launcher.Emulator]) -> None:
    """Eight clients store and delete all the while. What they were told is so after the last restart."""
    load = Load(with_bucket(start()))
    with ThreadPoolExecutor(8) as pool:
        workers = [pool.submit(load.work, worker) for worker in range(8)]
        try:
            for _ in range(10):
                enough = len(load.stored) + 3
                eventually(lambda count=enough: len(load.stored) >= count)  # type: ignore[misc]
                kill(load.current.pid)
                load.current = start()
            eventually(lambda: len(load.deleted) > 2)
        finally:
            load.ended.set()
        for worker in workers:
            worker.result()
    with storage_client(load.current.storage_url) as client:
        found = {blob.name: blob for blob in client.list_blobs(BUCKET)}
        assert len(load.stored) > 20
        assert load.stored <= found.keys(), "what was acknowledged is there"
        assert not load.deleted & found.keys(), "what was acknowledged as deleted is gone"
        listed = {name: (blob.crc32c, blob.size) for name, blob in found.items()}
        assert listed == {name: load.sums[name] for name in found}, "each has the checksum of what was sent"
    folder = load.current.data_dir / "buckets" / BUCKET
    files = {path.name: path for path in folder.iterdir()}
    assert files.keys() == found.keys(), "as many files as objects"
    assert {name: checked(path) for name, path in files.items()} == listed, "no half object"
    assert list((load.current.data_dir / "objects-incoming").iterdir()) == []


def checked(path: Path) -> tuple[str, int]:
    content = path.read_bytes()
    return crc32c(content), len(content)
