"""Requests as TensorFlow sends them for gs:// addresses (2.15 and 2.21, recorded), through the proxy."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from support.emulated.clients.door import Door
from vertex_emulator.daemon.daemon import Daemon

API, CONTENT = "www.googleapis.com", "storage.googleapis.com"
EMPTY = {
    "Content-Length": "0",
    "Transfer-Encoding": "identity",
    "Content-Type": "application/x-www-form-urlencoded",
    "Expect": "100-continue",
}
"""The header fields of a POST or PUT without a body."""
BLOCK = 256 * 1024


@dataclass(frozen=True)
class Reply:
    """A response: its status, header fields and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class TensorFlow:
    """Each request of TensorFlow has a connection of its own, with HTTP/1.1 over TLS."""

    door: Door
    bucket: str

    def send(self, method: str, host: str, path: str, fields: dict[str, str], body: bytes = b"") -> Reply:
        """Send a request without `Connection: close`: the client reads the length of the response."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {host}",
            "User-Agent: TSL",
            "Accept: */*",
            f"Authorization: Bearer {self.door.daemon.token}",
            *(f"{name}: {value}" for name, value in fields.items()),
        ]
        with self.door.secured(host) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            stream = connection.makefile("rb")
            status, headers = _head_of(stream)
            while status == 100:
                status, headers = _head_of(stream)
            return Reply(status, headers, stream.read(int(headers.get("Content-Length", "0"))))

    def get(self, path: str, host: str = API, **fields: str) -> Reply:
        return self.send("GET", host, path, fields)

    def read(self, name: str, first: int, last: int) -> Reply:
        return self.get(f"/{self.bucket}/{quote(name, safe='')}", CONTENT, Range=f"bytes={first}-{last}")

    def begin(self, name: str, size: int) -> str:
        """Begin a resumable upload. Return the path of its session."""
        path = f"/upload/storage/v1/b/{self.bucket}/o?uploadType=resumable&name={quote(name, safe='')}"
        begun = self.send("POST", API, path, {"X-Upload-Content-Length": str(size), **EMPTY})
        assert (begun.status, begun.body) == (200, b"")
        parts = urlsplit(begun.headers["Location"])
        assert parts.netloc == API
        return f"{parts.path}?{parts.query}"

    def put(self, session: str, data: bytes, start: int = 0, sent: int | None = None) -> Reply:
        """Send the rest of a file from `start` on, in chunks and with its length."""
        rest = data[start:]
        fields = {"Transfer-Encoding": "chunked"}
        if data:
            fields["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        fields |= {"Content-Length": str(len(rest)), "Expect": "100-continue"}
        pieces = [rest[at : at + 65536] for at in range(0, len(rest), 65536)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        return self.send("PUT", API, session, fields, body)

    def status(self, session: str, size: int) -> Reply:
        return self.send("PUT", API, session, {"Content-Range": f"bytes */{size}", **EMPTY})


def _head_of(stream: Any) -> tuple[int, dict[str, str]]:
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline().decode().rstrip("\r\n")) != "":
        name, _, value = line.partition(": ")
        headers[name] = value
    return status, headers


@pytest.fixture
def tensorflow(emulator: Daemon, bucket: Any) -> TensorFlow:
    return TensorFlow(Door(emulator), bucket.name)


def test_a_file_is_written(tensorflow: TensorFlow, bucket: Any) -> None:
    data = os.urandom(3 * BLOCK + 5)
    made = tensorflow.put(tensorflow.begin("d/a b\u00fc", len(data)), data)
    assert (made.status, made.headers["Connection"]) == (200, "close")
    blob = bucket.get_blob("d/a b\u00fc")
    assert (blob.download_as_bytes(), blob.content_type) == (data, "application/octet-stream")


def test_an_empty_file_is_written(tensorflow: TensorFlow, bucket: Any) -> None:
    """Send no Content-Range, and a last chunk only."""
    assert tensorflow.put(tensorflow.begin("empty", 0), b"").status == 200
    assert bucket.get_blob("empty").size == 0


def test_an_interrupted_upload_is_continued(tensorflow: TensorFlow, bucket: Any) -> None:
    data = os.urandom(2 * BLOCK + 5)
    session = tensorflow.begin("parts", len(data))
    nothing = tensorflow.status(session, len(data))
    assert (nothing.status, nothing.headers.get("Range")) == (308, None)
    first = {"Content-Range": f"bytes 0-{BLOCK - 1}/{len(data)}", "Content-Length": str(BLOCK)}
    assert tensorflow.send("PUT", API, session, first, data[:BLOCK]).status == 308
    some = tensorflow.status(session, len(data))
    assert (some.status, some.headers["Range"]) == (308, f"bytes=0-{BLOCK - 1}")
    assert tensorflow.put(session, data, BLOCK).status == 200
    assert tensorflow.status(session, len(data)).status == 200, "the upload is complete"
    assert bucket.blob("parts").download_as_bytes() == data


def test_a_folder_is_made_once(tensorflow: TensorFlow) -> None:
    path = f"/upload/storage/v1/b/{tensorflow.bucket}/o?uploadType=media&name=d%2F&ifGenerationMatch=0"
    assert tensorflow.send("POST", API, path, EMPTY).status == 200
    assert tensorflow.send("POST", API, path, EMPTY).status == 412


def test_a_file_is_renamed(tensorflow: TensorFlow, bucket: Any) -> None:
    bucket.blob("a/b").upload_from_string("text")
    path = f"/storage/v1/b/{tensorflow.bucket}/o"
    renamed = tensorflow.send("POST", API, f"{path}/a%2Fb/rewriteTo/b/{tensorflow.bucket}/o/c%2Fd", EMPTY)
    assert (renamed.status, renamed.json()["done"]) == (200, True)
    assert tensorflow.send("DELETE", API, f"{path}/a%2Fb", {}).status == 204
    assert [blob.name for blob in bucket.list_blobs()] == ["c/d"]


def test_reads_up_to_the_end_and_behind_it(tensorflow: TensorFlow, bucket: Any) -> None:
    bucket.blob("a/b").upload_from_string("hello")
    bucket.blob("empty").upload_from_string("")
    whole = tensorflow.read("a/b", 0, 64 * 1024 * 1024 - 1)
    assert (whole.status, whole.body, whole.headers["Content-Range"]) == (206, b"hello", "bytes 0-4/5")
    assert tensorflow.read("a/b", 5, 9).status == 416
    assert tensorflow.read("empty", 0, 9).status == 416
    assert tensorflow.read("missing", 0, 9).status == 404


def test_a_file_and_a_folder_have_a_state(tensorflow: TensorFlow, bucket: Any) -> None:
    blob = bucket.blob("a/b")
    blob.upload_from_string("hello")
    path = f"/storage/v1/b/{tensorflow.bucket}/o"
    file = tensorflow.get(f"{path}/a%2Fb?fields=size%2Cgeneration%2Cupdated")
    assert file.json() == {
        "size": "5",
        "generation": str(blob.generation),
        "updated": f"{blob.updated:%Y-%m-%dT%H:%M:%S}.{blob.updated.microsecond // 1000:03}Z",
    }
    assert tensorflow.get(f"{path}/a?fields=size%2Cgeneration%2Cupdated").status == 404
    fields = "fields=items%2Fname%2CnextPageToken"
    assert tensorflow.get(f"{path}?{fields}&prefix=a%2F&maxResults=1").json() == {"items": [{"name": "a/b"}]}
    assert tensorflow.get(f"{path}?{fields}&prefix=b%2F&maxResults=1").json() == {}


def test_a_folder_is_listed(tensorflow: TensorFlow, bucket: Any) -> None:
    for name in ("a/", "a/b", "a/c/d", "e"):
        bucket.blob(name).upload_from_string("")
    fields = "fields=items%2Fname%2Cprefixes%2CnextPageToken&delimiter=%2F"
    path = f"/storage/v1/b/{tensorflow.bucket}/o?{fields}"
    assert tensorflow.get(f"{path}&prefix=a%2F").json() == {
        "prefixes": ["a/c/"],
        "items": [{"name": "a/"}, {"name": "a/b"}],
    }
    assert tensorflow.get(path).json() == {"prefixes": ["a/"], "items": [{"name": "e"}]}


@pytest.mark.parametrize("name", ["log.txt", "a b/\u00fc", 'with "quotes"'])
def test_a_file_is_extended(tensorflow: TensorFlow, bucket: Any, name: str) -> None:
    """Take single quotes, and ignore `objectPrecondition`, which the API lacks, as the service does.

    TensorFlow appends like this with GCS_APPEND_MODE=compose.
    """
    blob = bucket.blob(name)
    blob.upload_from_string("one\n")
    bucket.blob(f"{name}.tmp").upload_from_string("two\n")
    condition = f"'objectPrecondition':{{'ifGenerationMatch':{blob.generation}}}"
    body = f"{{'sourceObjects': [{{'name': '{name}',{condition}}},{{'name': '{name}.tmp'}}]}}".encode()
    path = f"/storage/v1/b/{tensorflow.bucket}/o/{quote(name, safe='')}/compose"
    fields = {"content-type": "application/json", "Content-Length": str(len(body))}
    for content in (b"one\ntwo\n", b"one\ntwo\ntwo\n"):
        assert tensorflow.send("POST", API, path, fields, body).status == 200
        assert bucket.blob(name).download_as_bytes() == content
    broken = body.replace(b"'}", b"}")
    refused = tensorflow.send("POST", API, path, fields | {"Content-Length": str(len(broken))}, broken)
    assert refused.status == 400
