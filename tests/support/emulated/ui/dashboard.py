"""A dashboard in a process of its own, as a user starts it, and a client that speaks as a browser does."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.emulated.emulator import Answer
from support.waiting import TIMEOUT


@dataclass(frozen=True)
class Event:
    """A server-sent event with its data from JSON."""

    name: str
    id: str
    data: Any


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A running dashboard. `url` is the address that it printed, with the token."""

    url: str
    process: subprocess.Popen[str] = field(repr=False)

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return urlsplit(self.url).query.partition("=")[2]

    @property
    def cookie(self) -> str:
        """The Cookie header after the address was opened."""
        answer = self.ask(f"/?token={self.token}", cookie="")
        assert answer.status == 303, answer
        found = SimpleCookie(answer.headers["set-cookie"])
        return "; ".join(f"{name}={one.value}" for name, one in found.items())

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        cookie: str | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """Send a request, with the cookie unless another one is given. Header names come in lower case."""
        connection = self._send(path, method, headers, cookie, body)
        try:
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def text(self, path: str) -> str:
        """Return a page."""
        answer = self.ask(path)
        assert answer.status == 200, answer
        return answer.body.decode()

    @contextmanager
    def events(self, path: str, *, last: str | None = None) -> Iterator[Iterator[Event]]:
        """Open a stream, and yield its events."""
        headers = {"Last-Event-ID": last} if last is not None else {}
        connection = self._send(path, "GET", {"Accept": "text/event-stream", **headers}, None, None)
        try:
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield _events(response)
        finally:
            connection.close()

    def _send(
        self,
        path: str,
        method: str,
        headers: Mapping[str, str] | None,
        cookie: str | None,
        body: bytes | None,
    ) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        sent = {"Host": self.host, **(headers or {})}
        given = self.cookie if cookie is None else cookie
        if given:
            sent["Cookie"] = given
        connection.request(method, path, body=body, headers=sent)
        return connection


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    found: dict[str, str] = {}
    while line := response.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            found[name] = value
        elif "event" in found:
            yield Event(found["event"], found.get("id", ""), json.loads(found["data"]))
            found = {}


@contextmanager
def running(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Dashboard]:
    """Run the command `ui` with these arguments, until the end of the context."""
    process = start(arguments, env=env)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "it ended without a word"
        yield Dashboard(url=json.loads(line)["url"], process=process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)


def start(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the command `ui --json`. Its standard output and error are one pipe."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("vertex-training"), "ui", "--json", *arguments],
        env=dict(os.environ if env is None else env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
