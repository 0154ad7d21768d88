"""An emulator in the place of Google Cloud: a proxy before it that can change answers and counts requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

from pulumi_vertex_training.cloud.endpoint import Endpoint

REGISTRY = "us-central1-docker.pkg.dev"
Change = Callable[[str, str, Any], Any]
"""Takes method, path and the JSON document of an answer, and returns the document that is sent instead."""

_DROPPED = {"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"}


@dataclass
class Hold:
    """A request of a method to a path with this ending waits, before or after it is carried out.

    `skipped` requests pass first.
    """

    method: str
    ending: str
    when: Literal["before", "after"]
    skipped: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def takes(self, method: str, path: str) -> bool:
        if self.method != method or not path.endswith(self.ending) or self.reached.is_set():
            return False
        self.skipped -= 1
        return self.skipped < 0


@dataclass
class Front:
    """The proxy. `asked` are the methods and paths of all requests, without queries, in order."""

    url: str
    token: str
    asked: list[tuple[str, str]] = field(default_factory=list)
    change: Change = field(default=lambda _method, _path, document: document)
    holds: list[Hold] = field(default_factory=list)
    refusal: tuple[int, Any] | None = None

    @contextmanager
    def changing(self, change: Change) -> Iterator[None]:
        """Change all answers until the end of the block."""
        before, self.change = self.change, change
        try:
            yield
        finally:
            self.change = before

    @contextmanager
    def refusing(self, status: int, error: dict[str, str]) -> Iterator[None]:
        """Answer all requests with an error until the end of the block."""
        self.refusal = (status, {"error": {"code": status, **error}})
        try:
            yield
        finally:
            self.refusal = None

    @contextmanager
    def hold(
        self, method: str, ending: str, when: Literal["before", "after"], skipped: int = 0
    ) -> Iterator[Hold]:
        """Hold a request until the end of the block, or until it is released."""
        made = Hold(method, ending, when, skipped)
        self.holds.append(made)
        try:
            yield made
        finally:
            made.released.set()
            self.holds.remove(made)

    def wait(self, method: str, path: str, when: Literal["before", "after"]) -> None:
        """Wait while a hold takes this request."""
        for each in list(self.holds):
            if each.when == when and each.takes(method, path):
                each.reached.set()
                each.released.wait()

    def endpoint(self, project: str = "my-project", location: str = "us-central1") -> Endpoint:
        """Return the endpoint that the command takes for Google Cloud."""
        hosts = ("logging.googleapis.com", "artifactregistry.googleapis.com")
        return Endpoint(
            kind="google",
            project=project,
            location=location,
            url=self.url,
            token=self.token,
            storage_url=self.url,
            addresses=(*((host, self.url) for host in hosts), (REGISTRY, f"{self.url}/{REGISTRY}")),
        )

    def submissions(self) -> int:
        """Return the number of requests that submit a job."""
        kinds = ("/customJobs", "/hyperparameterTuningJobs", "/trainingPipelines")
        return sum(method == "POST" and path.endswith(kinds) for method, path in self.asked)


@contextmanager
def before(url: str, token: str) -> Iterator[Front]:
    """Run a proxy before the emulator at `url`."""
    target = urlsplit(url)
    front = Front(url="", token=token)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            path = self.path
            if path.startswith(f"/{REGISTRY}/v2/"):
                path = f"/v2/{REGISTRY}/{path.removeprefix(f'/{REGISTRY}/v2/')}"
            plain = path.partition("?")[0]
            front.asked.append((self.command, plain))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {**dict(self.headers), "Host": target.netloc}
            if front.refusal is not None:
                self.refuse(*front.refusal)
                return
            front.wait(self.command, plain, "before")
            connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=120)
            try:
                connection.request(self.command, path, body=body, headers=headers)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.close_connection = True
                return
            finally:
                connection.close()
            front.wait(self.command, plain, "after")
            if "json" in answer.headers.get("Content-Type", "") and plain.startswith(("/v1", "/storage")):
                content = json.dumps(front.change(self.command, plain, json.loads(content))).encode()
            with contextlib.suppress(OSError):  # the client was killed
                self.answer(answer, content)

        def refuse(self, status: int, document: Any) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in _DROPPED:
                    self.send_header(name, value)
            if self.command == "HEAD":
                self.send_header("Content-Length", answer.headers.get("Content-Length", "0"))
            else:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    front.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
