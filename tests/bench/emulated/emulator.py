"""The emulator's server and its Cloud Storage, in a daemon of its own on this machine."""

from __future__ import annotations

import http.client
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from emulated import servers
from figure import Figure, median_seconds

from support.emulated.emulator import storage_client
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator

_ROUNDS = 10


def figures() -> Iterator[Figure]:
    yield _first_answer()
    with servers.emulator() as emulator:
        with storage_client(emulator.storage_url) as client:
            client.create_bucket("bench").blob("small").upload_from_string("small")
        yield Figure(
            name="emulator: found running",
            value=median_seconds(lambda: launcher.ensure(emulator.data_dir), runs=50) * 1000,
            unit="ms",
        )
        yield from _requests(emulator)
        yield _small_objects(emulator)


def _first_answer(runs: int = 5) -> Figure:
    """Measure the time from the launcher's call to a daemon with an answered health check."""
    times = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            launcher.ensure(Path(folder))
            times.append(time.perf_counter() - began)
            launcher.stop(Path(folder))
    return Figure(name="emulator: first answer", value=statistics.median(times), unit="s", budget=0.5)


def _requests(emulator: Emulator) -> Iterator[Figure]:
    """Measure requests of a client with hardly any overhead."""
    parts = urlsplit(emulator.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    headers = {"Authorization": f"Bearer {emulator.token}"}

    def get(path: str) -> Callable[[], None]:
        def ask() -> None:
            connection.request("GET", path, headers=headers)
            connection.getresponse().read()

        return ask

    for name, path in (
        ("health", "/_local/health"),
        ("an object's metadata", "/storage/v1/b/bench/o/small"),
        ("an object's content", "/storage/v1/b/bench/o/small?alt=media"),
    ):
        yield Figure(
            name=f"emulator: requests on one connection, {name}",
            value=1 / _seconds_each(get(path), 2000),
            unit="/s",
            budget=1000,
            higher_is_better=True,
        )
    connection.close()


def _small_objects(emulator: Emulator) -> Figure:
    with storage_client(emulator.storage_url) as client:
        bucket = client.bucket("bench")
        numbers = itertools.count()

        def store() -> None:
            bucket.blob(f"many/{next(numbers)}").upload_from_string(b"x" * 1024)

        value = 1 / _seconds_each(store, 300)
    return Figure(name="emulator: 1 KB objects stored, Google's client", value=value, unit="/s")


def _seconds_each(act: Callable[[], object], times: int) -> float:
    """Return the seconds of one call: the median over rounds of many calls."""
    each = times // _ROUNDS

    def one_round() -> None:
        for _ in range(each):
            act()

    return median_seconds(one_round, runs=_ROUNDS) / each
