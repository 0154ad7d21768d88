"""A stand-in for HashiCorp Vault that holds the key of the stacks' secrets, in this process.

Pulumi derives the key of a passphrase by a million hashes for each command, an eighth of a second. With a key
of a vault it asks for it instead: secrets are encrypted in the same way, and stay out of states and outputs.
"""

from __future__ import annotations

import base64
import functools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_KEY = bytes(range(32))
SETTINGS = (
    "secretsprovider: hashivault://tests\n"
    f"encryptedkey: {base64.b64encode(b'vault:v1:the-key-of-the-tests').decode()}\n"
)
"""The lines of a stack's configuration file that name the key of its secrets."""


class _Vault(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        """Decrypt: the answer has the key, whatever is asked for."""
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = json.dumps({"data": {"plaintext": base64.b64encode(_KEY).decode()}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@functools.cache
def variables() -> dict[str, str]:
    """Return the variables that name the vault, which this process serves until it ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Vault)
    threading.Thread(target=server.serve_forever, name="key-vault", daemon=True).start()
    return {"VAULT_SERVER_URL": f"http://127.0.0.1:{server.server_port}", "VAULT_SERVER_TOKEN": "tests"}
