"""A small container registry in this process, for behaviour that the emulator's registry never has.

It asks for tokens, breaks connections, forgets uploads and refuses mounts.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_UPLOADS = re.compile(r"/v2/(.+)/blobs/uploads/(\w*)")
_BLOB = re.compile(r"/v2/(.+)/blobs/(sha256:\w+)")
_MANIFEST = re.compile(r"/v2/(.+)/manifests/(.+)")
_TAGS = re.compile(r"/v2/(.+)/tags/list")


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Behaviour:
    """How the registry behaves.

    `breaks` uploads end after `after` bytes. A request must carry `token`; `/token` returns it, or the
    document in `token_answer`. `status` has, by method, the statuses of the first answers.
    """

    mounts: bool = True
    resumes: bool = True
    breaks: int = 0
    after: int = 1000
    token: str | None = None
    token_answer: list[Any] = field(default_factory=list)
    realm: str | None = None
    status: dict[str, list[int]] = field(default_factory=dict)
    short_downloads: int = 0
    repositories: frozenset[str] | None = None


class SmallRegistry:
    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.blobs: dict[tuple[str, str], bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.uploads: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.authorizations: list[str | None] = []
        self.received = self.begun = 0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                return

            def handle_any(self) -> None:
                registry._handle(self)

        for method in ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.handle_any)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, method: str, words: str) -> int:
        return sum(one == method and words in path for one, path in self.asked)

    def _handle(self, request: Any) -> None:
        parts = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with self.lock:
            self.asked.append((request.command, request.path))
            self.authorizations.append(request.headers.get("Authorization"))
            statuses = self.behaviour.status.get(request.command)
            status = statuses.pop(0) if statuses else None
        length = int(request.headers.get("Content-Length") or 0)
        if parts.path == "/token":
            own = self.behaviour.token_answer
            self._answer(request, 200, own[0] if own else {"token": self.behaviour.token})
            return
        wanted = self.behaviour.token
        if wanted is not None and request.headers.get("Authorization") != f"Bearer {wanted}":
            request.rfile.read(length)
            realm = self.behaviour.realm or f"http://{self.host}/token"
            challenge = f'Bearer realm="{realm}",service="small",scope="repository:x:pull"'
            self._error(request, 401, "UNAUTHORIZED", headers={"WWW-Authenticate": challenge})
            return
        if status is not None:
            request.rfile.read(length)
            self._error(request, status, "UNKNOWN")
            return
        if match := _UPLOADS.fullmatch(parts.path):
            self._upload(request, match[1], match[2], query, length)
            return
        body = request.rfile.read(length)
        if match := _MANIFEST.fullmatch(parts.path):
            self._manifest(request, match[1], match[2], body)
            return
        if match := _BLOB.fullmatch(parts.path):
            self._blob(request, match[1], match[2])
            return
        if match := _TAGS.fullmatch(parts.path):
            self._tags(request, match[1], query)
            return
        self._answer(request, 404, None, content=b"<html>no such page</html>")

    def _upload(self, request: Any, name: str, upload: str, query: dict[str, str], length: int) -> None:
        known = self.behaviour.repositories
        if known is not None and name not in known:
            request.rfile.read(length)
            self._error(request, 404, "NAME_UNKNOWN")
            return
        if request.command == "POST":
            mounted = self.blobs.get((query.get("from", ""), query.get("mount", "")))
            if mounted is not None and self.behaviour.mounts:
                self.blobs[name, query["mount"]] = mounted
                self._answer(request, 201)
                return
            with self.lock:
                self.begun += 1
                upload = f"u{self.begun}"
                self.uploads[upload] = b""
            self._answer(request, 202, headers={"Location": f"/v2/{name}/blobs/uploads/{upload}?s=1"})
            return
        if upload not in self.uploads or (request.command == "GET" and not self.behaviour.resumes):
            request.rfile.read(length)
            self._error(request, 404, "BLOB_UPLOAD_UNKNOWN")
            return
        if request.command != "GET":
            self._receive(request, upload, length)
            if request.close_connection:
                return
        if request.command == "PUT":
            content = self.uploads.pop(upload)
            if digest_of(content) != query["digest"]:
                self._error(request, 400, "DIGEST_INVALID")
                return
            self.blobs[name, query["digest"]] = content
            self._answer(request, 201)
            return
        reached = max(len(self.uploads[upload]) - 1, 0)
        location = f"/v2/{name}/blobs/uploads/{upload}"
        status = 204 if request.command == "GET" else 202
        self._answer(request, status, headers={"Location": location, "Range": f"0-{reached}"})
        return

    def _receive(self, request: Any, upload: str, length: int) -> None:
        with self.lock:
            breaks = self.behaviour.breaks > 0 and length > 0
            self.behaviour.breaks -= breaks
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        content = request.rfile.read(min(length, self.behaviour.after) if breaks else length)
        with self.lock:
            self.at_once -= 1
            self.received += len(content)
        self.uploads[upload] += content
        if breaks:
            request.close_connection = True
            request.connection.close()

    def _manifest(self, request: Any, name: str, reference: str, body: bytes) -> None:
        if request.command == "PUT":
            kept = (request.headers["Content-Type"], body)
            self.manifests[name, reference] = self.manifests[name, digest_of(body)] = kept
            self._answer(request, 201)
            return
        found = self.manifests.get((name, reference))
        if found is None:
            self._error(request, 404, "MANIFEST_UNKNOWN")
            return
        if request.command == "DELETE":
            del self.manifests[name, reference]
            self._answer(request, 202)
            return
        headers = {"Docker-Content-Digest": digest_of(found[1]), "Content-Type": found[0]}
        self._answer(request, 200, content=found[1], headers=headers)
        return

    def _blob(self, request: Any, name: str, digest: str) -> None:
        content = self.blobs.get((name, digest))
        if content is None:
            self._error(request, 404, "BLOB_UNKNOWN")
            return
        start = int((request.headers.get("Range") or "bytes=0-")[6:-1])
        if self.behaviour.short_downloads and request.command == "GET":
            self.behaviour.short_downloads -= 1
            request.send_response(206 if start else 200)
            request.send_header("Content-Length", str(len(content) - start))
            request.end_headers()
            request.wfile.write(content[start : start + self.behaviour.after])
            request.close_connection = True
            return
        self._answer(request, 206 if start else 200, content=content[start:])
        return

    def _tags(self, request: Any, name: str, query: dict[str, str]) -> None:
        every = sorted(tag for at, tag in self.manifests if at == name and not tag.startswith("sha256:"))
        page = [tag for tag in every if tag > query.get("last", "")][:2]
        more = page and page[-1] != every[-1]
        link = {"Link": f'</v2/{name}/tags/list?n=2&last={page[-1]}>; rel="next"'} if more else {}
        self._answer(request, 200, {"name": name, "tags": page}, headers=link)

    def _error(self, request: Any, status: int, code: str, *, headers: dict[str, str] | None = None) -> None:
        document = {"errors": [{"code": code, "message": f"the registry says {code.lower()}"}]}
        self._answer(request, status, document, headers=headers)

    def _answer(
        self,
        request: Any,
        status: int,
        document: Any = None,
        *,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> None:
        content = json.dumps(document).encode() if document is not None else content
        request.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)
