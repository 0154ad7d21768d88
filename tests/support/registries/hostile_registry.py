"""A container registry, in a process of its own, that answers with bodies of any size.

    python -m support.registries.hostile_registry SIZE

It prints its port. The first part of a path names the hostile answer; `/sent` returns how many
bytes each of them sent before the client went.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

_BLOCK = b'{"a": [' + b"0, " * 20_000


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    size = 0
    sent: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        answer = path.removeprefix("/v2/").strip("/").split("/")[0]
        if path == "/sent":
            with self.lock:
                self._send(200, json.dumps(self.sent).encode())
        elif answer == "token":
            host = self.headers["Host"]
            self._send(401, b"{}", {"WWW-Authenticate": f'Bearer realm="http://{host}/issue",service="x"'})
        elif path == "/end":
            self._send(200, b"{}")
        elif path == "/issue":
            self._stream("token", 200)
        elif answer == "redirect":
            self._stream(answer, 307, {"Location": "/end"})
        elif answer == "refusal":
            self._stream(answer, 403)
        elif answer == "compressed":
            bomb = gzip.compress(bytes(self.size), 1)
            self._send(200, bomb, {"Content-Encoding": "gzip"})
        elif answer == "unbounded":
            self._stream(answer, 200, chunked=True)
        else:
            self._stream(answer, 200)

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(
        self, answer: str, status: int, headers: dict[str, str] | None = None, *, chunked: bool = False
    ) -> None:
        framing = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(self.size)}
        self.send_response(status)
        for key, value in {**framing, **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.close_connection = True
        try:
            for block in self._blocks():
                self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block) if chunked else block)
                with self.lock:
                    self.sent[answer] += len(block)
            if chunked:
                self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            return

    def _blocks(self) -> Iterator[bytes]:
        left = self.size
        while left:
            block = _BLOCK[:left]
            left -= len(block)
            yield block


def main(size: int) -> None:
    _Handler.size = size
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
