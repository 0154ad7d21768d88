"""The emulator's proxy next to the direct way, and gRPC next to REST."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import requests
from figure import Figure
from google.cloud import aiplatform_v1
from google.oauth2.credentials import Credentials
from servers import emulator

from vertex_emulator.control import Control
from vertex_emulator.kernel import data_folder
from vertex_emulator.launcher import Emulator
from vertex_emulator.proxy import variables

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
    """Measure the same requests of the same client over plain HTTP, and over TLS through the proxy."""
    content = os.urandom(MEGABYTES * 1_000_000)
    direct, proxied = requests.Session(), requests.Session()
    for session in (direct, proxied):
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {found.token}"
    proxied.proxies = {"https": proxy}
    proxied.verify = str(found.data_dir / variables.FOLDER / variables.BUNDLE)
    ways = {"direct": (direct, found.url), "proxied": (proxied, "https://storage.googleapis.com")}
    direct.post(f"{found.url}/storage/v1/b?project=local", json={"name": "bench"}).raise_for_status()

    def up(way: str) -> None:
        session, url = ways[way]
        path = "/upload/storage/v1/b/bench/o?uploadType=media&name=large"
        session.post(url + path, data=content).raise_for_status()

    def down(way: str) -> None:
        session, url = ways[way]
        with session.get(f"{url}/storage/v1/b/bench/o/large?alt=media", stream=True) as answer:
            size = sum(map(len, answer.iter_content(1 << 20)))
        assert size == len(content)

    actions: Mapping[str, Callable[[str], None]] = {"up": up, "down": down}
    for name, act in actions.items():
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(5):
            for way in ways:
                began = time.perf_counter()
                act(way)
                times[way].append(time.perf_counter() - began)
        slow, quick = (statistics.median(times[way]) for way in ("proxied", "direct"))
        yield Figure(
            name=f"proxy: {MEGABYTES} MB {name}, in times of the direct way",
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
