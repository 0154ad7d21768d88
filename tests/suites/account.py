"""A service account for suites: its key is the one that signs URLs for the emulator.

The emulator has no token service (Google's is oauth2.googleapis.com). The one here gives its token for an
assertion that the key has signed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from google.auth import jwt

from support.emulated.emulator import call
from vertex_emulator.daemon.daemon import Daemon

_AUDIENCE = "https://oauth2.googleapis.com/token"
"""The audience in every assertion of google-auth, wherever its key says that tokens are."""


@contextmanager
def key_file(daemon: Daemon, folder: Path) -> Iterator[Path]:
    """Write the key of an account to `folder`, and serve tokens for it meanwhile."""
    path = call(daemon.url, "GET", "/_local/service-account", token=daemon.token).json()["path"]
    key = json.loads(Path(path).read_text(encoding="utf-8"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Tokens)
    server.daemon_threads = True
    cast(Any, server).public, cast(Any, server).token = _public(key), daemon.token
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        token_uri = f"http://127.0.0.1:{server.server_address[1]}/token"
        file = folder / "account.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps({**key, "token_uri": token_uri}), encoding="utf-8")
        yield file
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _public(key: dict[str, str]) -> bytes:
    private = load_pem_private_key(key["private_key"].encode(), password=None)
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


class _Tokens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast(Any, self.server)
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        status, answer = 200, {"access_token": server.token, "token_type": "Bearer", "expires_in": 3600}
        try:
            jwt.decode(  # type: ignore[no-untyped-call]
                form["assertion"][0], certs=[server.public], audience=_AUDIENCE
            )
        except (ValueError, KeyError) as error:
            status, answer = 400, {"error": "invalid_grant", "error_description": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
