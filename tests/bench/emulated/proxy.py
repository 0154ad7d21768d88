"""The emulator's proxy next to the direct way, and gRPC next to REST."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emulated.servers import emulator
from figure import Figure
from google.cloud import aiplatform_v1, storage
from google.oauth2.credentials import Credentials

from vertex_emulator.client.control import Control
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.server.proxy import variables

MEGABYTES = 100
_CALLS = 300
_LISTING = "projects/local/locations/us-central1"


def figures() -> Iterator[Figure]:
    with emulator() as found:
        proxy = Control(url=found.url, token=found.token).call("GET", "/_local/info")["proxy"]
        url = variables.proxy_url(proxy, data_folder.proxy_secret(found.token))
        yield from _large_object(found, url)
        yield _calls(found, url)


def _large_object(found: Emulator, proxy: str) -> Iterator[Figure]:
    """Measure transfers from file to file with Google's client, including checksums, in both ways."""
    credentials = Credentials(token=found.token)  # type: ignore[no-untyped-call]
    shell = variables.shell_variables(proxy, data_dir=found.data_dir, environment={})
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        source.write_bytes(os.urandom(MEGABYTES * 1_000_000))

        def blob(way: str) -> Any:
            options = {"api_endpoint": found.url} if way == "direct" else None
            client = storage.Client(project="local", credentials=credentials, client_options=options)
            return client.bucket("bench").blob("large")

        def up(way: str) -> None:
            blob(way).upload_from_filename(str(source))

        def down(way: str) -> None:
            blob(way).download_to_filename(str(target))
            assert target.stat().st_size == source.stat().st_size

        storage.Client(
            project="local", credentials=credentials, client_options={"api_endpoint": found.url}
        ).create_bucket("bench")
        actions: Mapping[str, Callable[[str], None]] = {"up": up, "down": down}
        for name, act in actions.items():
            times: dict[str, list[float]] = {"direct": [], "proxied": []}
            for _ in range(5):
                for way, taken in times.items():
                    with _environment(shell if way == "proxied" else {}):
                        began = time.perf_counter()
                        act(way)
                        taken.append(time.perf_counter() - began)
            slow, quick = (statistics.median(times[way]) for way in ("proxied", "direct"))
            yield Figure(
                name=f"proxy: {MEGABYTES} MB {name}, Google's client, in times of the direct way",
                value=slow / quick,
                unit="x",
                budget=1.3,
                note=f"{slow:.2f} s, {quick:.2f} s",
            )


def _calls(found: Emulator, proxy: str) -> Figure:
    """Measure a call of Google's client with its default transport through the proxy, and over REST."""
    credentials = Credentials(token=found.token)  # type: ignore[no-untyped-call]
    shell = variables.shell_variables(proxy, data_dir=found.data_dir, environment={})
    with _environment(shell):
        grpc = aiplatform_v1.JobServiceClient(
            credentials=credentials,
            client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"},
        )
        grpc.list_custom_jobs(parent=_LISTING)  # connects, while the variables are set
    rest = aiplatform_v1.JobServiceClient(
        credentials=credentials, transport="rest", client_options={"api_endpoint": found.url}
    )
    times: dict[str, float] = {}
    for name, client in (("rest", rest), ("grpc", grpc), ("rest", rest), ("grpc", grpc)):
        began = time.perf_counter()
        for _ in range(_CALLS):
            client.list_custom_jobs(parent=_LISTING)
        times[name] = min(times.get(name, 1e9), (time.perf_counter() - began) / _CALLS * 1000)
    return Figure(
        name="gRPC: a call of Google's client through the proxy, in times of REST",
        value=times["grpc"] / times["rest"],
        unit="x",
        budget=1.5,
        note=f"{times['grpc']:.2f} ms, {times['rest']:.2f} ms",
    )


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
