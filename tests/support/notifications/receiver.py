"""A webhook of the test's own, which records what is posted to it and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.waiting import eventually


@dataclass(frozen=True)
class Posted:
    """A request: its path with the query, its headers in lower case, and its JSON."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def run(self) -> dict[str, str]:
        facts: dict[str, str] = self.body["run"]
        return facts


@dataclass
class Receiver:
    """A server on loopback. It answers with the statuses of `answers`, one each, and then with 200.

    It records a request before it answers. While `may_answer` is clear, no request gets an answer.
    """

    url: str = ""
    answers: list[int] = field(default_factory=list)
    location: str = ""
    posted: list[Posted] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def wait(self, count: int) -> Sequence[Posted]:
        """Wait until there were that many requests. Return them."""
        eventually(lambda: len(self.posted) >= count, what=lambda: str(self.posted))
        return list(self.posted)


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    found.may_answer.set()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                status = found.answers.pop(0) if found.answers else 200
                headers = {name.lower(): value for name, value in self.headers.items()}
                found.posted.append(Posted(self.path, headers, json.loads(body)))
            found.may_answer.wait()
            with suppress(OSError):  # the client may have been killed meanwhile
                self.answer(status)

        def answer(self, status: int) -> None:
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", found.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:  # what a followed redirect of a POST would send
            with lock:
                found.posted.append(Posted(self.path, {}, {}))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.may_answer.set()
        server.shutdown()
        server.server_close()
        thread.join()
