"""Many clients at once, large layers in little memory, and kills during pushes."""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from support.emulated.emulator import Answer, kill, peak_memory
from support.emulated.registries.registry import RegistryClient, descriptor, manifest, new_name, sha256
from support.waiting import eventually
from vertex_emulator.client import launcher

MB = 1 << 20
LARGE = 1024
"""Size of a large layer in MB."""


def client(emulator: launcher.Emulator) -> RegistryClient:
    return RegistryClient(emulator.url, emulator.token, new_name())


def test_64_connections(start: Callable[..., launcher.Emulator]) -> None:
    registry = client(start())
    with ThreadPoolExecutor(64) as pool:
        layers = [random.Random(n).randbytes(MB) for n in range(64)]
        digests = list(pool.map(lambda n: registry.push_image(f"v{n}", layers[n]), range(64)))
        found = list(pool.map(lambda n: registry.ask("GET", f"manifests/v{n}"), range(64)))
        assert [each.headers["Docker-Content-Digest"] for each in found] == digests
        blobs = pool.map(lambda layer: registry.ask("GET", f"blobs/{sha256(layer)}").body, layers)
        assert [sha256(blob) for blob in blobs] == [sha256(layer) for layer in layers]


def pieces(count: int) -> Iterator[bytes]:
    """Yield that many different blocks of 1 MB."""
    block = random.Random(count).randbytes(MB)
    for number in range(count):
        yield number.to_bytes(8, "big") + block[8:]


@pytest.mark.slow
def test_a_layer_of_1_gb_in_constant_memory(start: Callable[..., launcher.Emulator]) -> None:
    emulator = start()
    registry = client(emulator)
    expected = hashlib.sha256()
    for piece in pieces(LARGE):
        expected.update(piece)
    digest = f"sha256:{expected.hexdigest()}"
    before = psutil.Process(emulator.pid).memory_info().rss
    parts = urlsplit(emulator.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    headers = {"Authorization": f"Bearer {emulator.token}", "Content-Length": str(LARGE * MB)}
    connection.request("PUT", f"{registry.begin()}?digest={digest}", body=pieces(LARGE), headers=headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 201
    connection.request(
        "GET", f"/v2/{registry.name}/blobs/{digest}", headers={"Authorization": headers["Authorization"]}
    )
    response, found = connection.getresponse(), hashlib.sha256()
    while block := response.read(MB):
        found.update(block)
    connection.close()
    assert found.hexdigest() == expected.hexdigest()
    assert peak_memory(emulator.pid) - before < 32 * MB


@pytest.mark.slow
def test_ten_kills_under_load_lose_nothing(start: Callable[..., launcher.Emulator], tmp_path: Path) -> None:
    """Push images with eight clients. Each acknowledged image is there after each restart."""
    stored: dict[str, tuple[str, str]] = {}
    written, ended = threading.Lock(), threading.Event()
    current = start()
    name = new_name()

    def push(worker: int) -> None:
        number = 0
        while not ended.is_set():
            number += 1
            tag, layer = f"w{worker}-{number}", os.urandom(50_000)
            registry = RegistryClient(current.url, current.token, name)
            try:
                digest = registry.push_image(tag, layer)
            except (OSError, http.client.HTTPException, KeyError):
                continue  # the emulator was killed
            except AssertionError as refused:
                answer = refused.args[0] if refused.args else None
                # An upload whose end was not told may be over, and the next emulator has a new token.
                if isinstance(answer, Answer) and answer.status in (401, 404, 503):
                    continue
                raise
            with written:
                stored[tag] = (digest, sha256(layer))

    with ThreadPoolExecutor(8) as pool:
        workers = [pool.submit(push, worker) for worker in range(8)]
        try:
            for _ in range(10):
                enough = len(stored) + 3
                eventually(lambda count=enough: len(stored) >= count)  # type: ignore[misc]
                kill(current.pid)
                current = start()
        finally:
            ended.set()
        for worker in workers:
            worker.result()
    registry = RegistryClient(current.url, current.token, name)
    assert len(stored) > 20
    tags = set(registry.ask("GET", "tags/list").json()["tags"])
    assert set(stored) <= tags
    for tag, (digest, layer) in stored.items():
        assert registry.ask("GET", f"manifests/{tag}").headers["Docker-Content-Digest"] == digest
        assert sha256(registry.ask("GET", f"blobs/{layer}").body) == layer


def test_an_upload_continues_after_a_kill(start: Callable[..., launcher.Emulator]) -> None:
    registry = client(first := start())
    halves = random.Random(1).randbytes(MB), random.Random(2).randbytes(MB)
    location = registry.begin()
    registry.ask("PATCH", location, body=halves[0])
    kill(first.pid)
    second = start()
    again = RegistryClient(second.url, second.token, registry.name)
    status = again.ask("GET", location)
    assert (status.status, status.headers["Range"]) == (204, f"0-{MB - 1}")
    answer = again.finish(location, sha256(b"".join(halves)), halves[1], Content_Range=f"{MB}-{2 * MB - 1}")
    assert answer.status == 201


def last_byte(registry: RegistryClient, location: str) -> int:
    return int(registry.ask("GET", location).headers["Range"].removeprefix("0-"))


def test_a_client_resumes_after_a_disconnect(start: Callable[..., launcher.Emulator]) -> None:
    registry = client(emulator := start())
    content, location = random.Random(1).randbytes(4 * MB), registry.begin()
    parts = urlsplit(emulator.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.putrequest("PATCH", location)
    connection.putheader("Authorization", f"Bearer {registry.token}")
    connection.putheader("Content-Length", str(len(content)))
    connection.endheaders(content[: 2 * MB])
    connection.close()
    # The status has to wait for the end of the first PATCH, but only once that has begun.
    eventually(lambda: last_byte(registry, location))
    size = last_byte(registry, location) + 1
    assert size <= 2 * MB
    registry.ask("PATCH", location, body=content[size:], Content_Range=f"{size}-{len(content) - 1}")
    assert registry.finish(location, sha256(content)).status == 201


def test_one_upload_by_two_clients_at_once(start: Callable[..., launcher.Emulator]) -> None:
    """Check that a chunk that is sent twice at once is stored once."""
    registry = client(start())
    content, location = random.Random(1).randbytes(MB), registry.begin()
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda _: registry.ask("PATCH", location, body=content, Content_Range=f"0-{MB - 1}"), range(4)
            )
        )
    assert sorted(answer.status for answer in answers) == [202, 416, 416, 416]
    assert registry.finish(location, sha256(content)).status == 201


def test_one_tag_by_many_clients_at_once(start: Callable[..., launcher.Emulator]) -> None:
    registry = client(start())
    registry.push_image("v1", b"layer")
    contents = [manifest([descriptor(b"layer")], annotations={"n": str(n)}) for n in range(32)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda content: registry.put_manifest("v1", content), contents))
    assert {answer.status for answer in answers} == {201}
    assert registry.ask("GET", "manifests/v1").body in contents
