"""A small real HTTP server with scripted answers, for behaviour that the emulator never has."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A received request; `body` is its JSON document, or None."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer; `drop` closes the connection without sending it."""

    status: int = 200
    document: Any = None
    text: str | None = None
    content_type: str = "application/json; charset=UTF-8"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    delay: float = 0.0


def refusal(status: int, reason: str, message: str, **more: Any) -> Answer:
    """Return an answer with Google's error envelope."""
    return Answer(
        status=status, document={"error": {"code": status, "status": reason, "message": message, **more}}
    )


_NOT_SCRIPTED = ("/_local/waiting-jobs",)
"""Paths whose answer is empty and takes none of the script: no job waits."""


class Service:
    """A server that gives the `answers` in order and repeats the last one; `asked` has the requests."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[Answer | Callable[[Asked], Answer]] = [Answer(document={})]
        self._lock = threading.Lock()
        self._closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def handle_any(self) -> None:
                service._handle(self)

            def log_message(self, *args: object) -> None:
                return

        for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.handle_any)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *answers: Answer | Callable[[Asked], Answer]) -> None:
        self.answers = list(answers)

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        address = urlsplit(handler.path)
        raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        is_json = "json" in (handler.headers.get("Content-Type") or "")
        asked = Asked(
            method=handler.command,
            path=address.path,
            query=parse_qs(address.query),
            headers={key.lower(): value for key, value in handler.headers.items()},
            body=json.loads(raw) if raw and is_json else None,
        )
        answer: Answer | Callable[[Asked], Answer] = Answer(document={})
        if address.path not in _NOT_SCRIPTED:
            with self._lock:
                self.asked.append(asked)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not isinstance(answer, Answer):
            answer = answer(asked)
        if answer.delay:
            self._closing.wait(answer.delay)
        if answer.drop:
            handler.close_connection = True
            handler.connection.close()
            return
        body = answer.text.encode() if answer.text is not None else json.dumps(answer.document).encode()
        if answer.text is None and answer.document is None:
            body = b""
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.content_type)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def as_emulator(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Service]:
    """Yield a service that the command in this process takes for a running emulator."""
    with closing(Service()) as made:
        monkeypatch.setenv("HOME", str(home))
        # Pulumi may find the login of the person who tests by the system's list of users, not by HOME.
        monkeypatch.setenv("PULUMI_HOME", str(home / ".pulumi"))
        monkeypatch.delenv("VERTEX_TRAINING_DATA_DIR", raising=False)
        monkeypatch.setenv("VERTEX_EMULATOR_HOST", made.url)
        monkeypatch.setenv("VERTEX_EMULATOR_TOKEN", "t")
        yield made
