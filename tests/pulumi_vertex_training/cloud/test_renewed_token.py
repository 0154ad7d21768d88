"""Calls of a process that holds the token of an emulator's earlier start."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, Unauthenticated
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.emulated.emulator import kill
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a separate emulator, and stop that emulator afterwards."""
    yield tmp_path
    emulator_reset.reset(tmp_path)


def endpoint(running: launcher.Emulator, *, data_dir: Path | None) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=running.url,
        token=running.token,
        data_dir=None if data_dir is None else str(data_dir),
    )


def test_calls_go_on_after_a_restart(data_dir: Path) -> None:
    first = launcher.ensure(data_dir)
    held, bare = endpoint(first, data_dir=data_dir), endpoint(first, data_dir=None)
    buckets.create(held, {"name": "survives", "location": "us-central1"})
    launcher.stop(data_dir)
    second = launcher.ensure(data_dir)
    assert (second.url, second.token == first.token) == (first.url, False)
    assert emulator_api.waiting_jobs(held) == {}
    assert custom_jobs.list_jobs(held) == []
    assert buckets.get(held, "survives").name == "survives"
    with pytest.raises(Unauthenticated, match=r"was replaced at .*emulator env"):
        buckets.get(bare, "survives")


class Stranger(BaseHTTPRequestHandler):
    """Listens where the emulator was, refuses every token, and keeps what it hears."""

    heard: list[str]

    def do_GET(self) -> None:
        self.heard.append(f"{self.path} {self.headers}")
        body = json.dumps({"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


def test_a_stranger_at_the_port_gets_no_new_token(data_dir: Path) -> None:
    first = launcher.ensure(data_dir)
    held = endpoint(first, data_dir=data_dir)
    assert custom_jobs.list_jobs(held) == []
    kill(first.pid)
    heard: list[str] = []
    handler = type("Handler", (Stranger,), {"heard": heard})
    stranger = ThreadingHTTPServer(("127.0.0.1", urlsplit(first.url).port or 0), handler)
    thread = threading.Thread(target=stranger.serve_forever)
    thread.start()
    try:
        second = launcher.ensure(data_dir)
        assert second.url != first.url
        with pytest.raises(CloudError):
            custom_jobs.list_jobs(held)
        assert first.token in "".join(heard), "it hears the old token, which opens nothing any more"
        assert second.token not in "".join(heard)
    finally:
        stranger.shutdown()
        thread.join()
        stranger.server_close()
