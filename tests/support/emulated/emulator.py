"""An emulator in this process, helpers for emulator processes, and plain HTTP requests to both."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from support.waiting import TIMEOUT_SCALE, eventually
from vertex_emulator.client.addresses import variables
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon.daemon import Daemon, Settings
from vertex_emulator.daemon.vertex_ai import open_vertex
from vertex_emulator.kernel.timeouts import DAEMON
from vertex_emulator.replicas.sandbox.probe import probe
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PROJECT = "local"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def ok(self) -> Answer:
        """Return the answer itself, whose status has to be 200."""
        assert self.status == 200, self.body
        return self

    @property
    def message(self) -> str:
        return str(self.json()["error"]["message"])


@cache
def found_sandbox() -> Sandbox:
    """Return the best sandbox of this machine. A process of tests asks once: three processes look for it."""
    return probe()


@contextmanager
def running(data_dir: Path, **settings: Any) -> Iterator[Daemon]:
    """Run an emulator in threads of this process, with the timeouts of a slow machine."""
    settings.setdefault("timeouts", DAEMON.at_least(TIMEOUT_SCALE))
    daemon = Daemon(
        Settings(data_dir=data_dir, **settings), open_jobs=partial(open_vertex, sandbox=found_sandbox())
    )
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()


def shell_variables(daemon: Daemon, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `vertex-training emulator env` sets in a shell with this environment."""
    emulator = Emulator(
        url=daemon.url,
        token=daemon.token,
        storage_url=daemon.storage_url,
        pid=os.getpid(),
        data_dir=daemon.folder.root,
        version="",
    )
    return variables(emulator, project=PROJECT, location="us-central1", environment=environment)


def call(
    url: str,
    method: str,
    path: str,
    *,
    body: Any = None,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send one request on its own connection. A `body` other than bytes is sent as JSON."""
    parts = urlsplit(url)
    sent = dict(headers or {})
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        sent.setdefault("Content-Type", "application/json")
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request(method, parts.path + path, body=body, headers=sent)
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())
    finally:
        connection.close()


def send_bytes(url: str, data: bytes, *, shut: bool = True) -> bytes:
    """Send `data`. Return the bytes that come back until the server closes the connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(data)
        if shut:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while block := connection.recv(65536):
            received += block
        return received


def kill(pid: int) -> None:
    """Send SIGKILL, and wait until the process has ended; it may still be a zombie."""
    process = psutil.Process(pid)
    process.send_signal(signal.SIGKILL)
    eventually(lambda: not is_alive(process), every=0.005, what=lambda: f"process {pid} survived SIGKILL")


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        # After SIGKILL the first thread can be a zombie while others still hold files and sockets.
        return bool(process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1)
    except psutil.NoSuchProcess:
        return False


def peak_memory(pid: int) -> int:
    """Return a process's peak resident memory in bytes (`VmHWM` of proc_pid_status(5))."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    raise AssertionError(f"no VmHWM of process {pid}")


def ask(
    emulator: Daemon, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send a request with the emulator's token."""
    return call(emulator.url, method, path, body=body, token=emulator.token, headers=headers)


@contextmanager
def storage_client(storage_url: str, *, project: str = PROJECT) -> Iterator[Any]:
    """Yield Google's client; its only access is the address with the storage secret."""
    client = storage.Client(
        project=project,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options={"api_endpoint": storage_url},
    )
    client._http.trust_env = False
    try:
        yield client
    finally:
        client.close()
