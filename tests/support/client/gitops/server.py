"""A REST API of the test's own on 127.0.0.1, with pages of lists, as GitHub and GitLab answer."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A received request; `path` has no query, and its percent signs are decoded."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: a JSON document, or bytes, or the address of a redirect."""

    status: int = 200
    document: Any = None
    content: bytes | None = None
    location: str = ""


@dataclass
class Api(ABC):
    """The base of a stand-in: subclasses answer, one request at a time. `asked` has all requests."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    @abstractmethod
    def answer(self, asked: Asked) -> Answer:
        """Answer a request."""

    def changes(self) -> list[tuple[str, str]]:
        """Return method and path of each request that was to change something."""
        return [(one.method, one.path) for one in self.asked if one.method != "GET"]


def page(rows: list[dict[str, Any]], asked: Asked) -> list[dict[str, Any]]:
    """Return the rows of the requested page."""
    size, number = int(asked.query.get("per_page", "30")), int(asked.query.get("page", "1"))
    return rows[(number - 1) * size : number * size]


@contextmanager
def serving(api: Api) -> Iterator[str]:
    """Serve an API. Yield its address."""
    lock = threading.Lock()
    handler = _handler(api.answer, api.asked, lock)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(
    answer_of: Callable[[Asked], Answer], received: list[Asked], lock: threading.Lock
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            address = urlsplit(self.path)
            asked = Asked(
                method=self.command,
                path=unquote(address.path),
                query={name: values[0] for name, values in parse_qs(address.query).items()},
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
            )
            with lock:
                received.append(asked)
                answer = answer_of(asked)
            content = answer.content if answer.content is not None else json.dumps(answer.document).encode()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            if answer.location:
                self.send_header("Location", answer.location)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "POST", "PATCH", "PUT"):
        setattr(Handler, f"do_{method}", Handler.handle_any)
    return Handler
