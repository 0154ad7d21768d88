"""Batches over the wire, as clients other than Google's Python library write them."""

from __future__ import annotations

import json
from email.parser import BytesParser
from typing import Any

import pytest

from support.emulated.emulator import Answer, call
from vertex_emulator.daemon.daemon import Daemon


def batch(emulator: Daemon, *parts: str, boundary: str = "edge", **options: Any) -> Answer:
    body = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts) + f"--{boundary}--\r\n"
    options.setdefault("headers", {"Content-Type": f"multipart/mixed; boundary={boundary}"})
    return call(
        options.pop("base", emulator.storage_url),
        "POST",
        "/batch/storage/v1",
        body=options.pop("body", body.encode()),
        **options,
    )


def part(line: str, *, body: Any = None, content_id: str | None = None) -> str:
    head = "Content-Type: application/http\r\n"
    if content_id is not None:
        head += f"Content-ID: {content_id}\r\n"
    if body is None:
        return f"{head}\r\n{line} HTTP/1.1\r\n\r\n"
    text = json.dumps(body)
    return f"{head}\r\n{line} HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{text}"


def answers(answer: Answer) -> list[tuple[int, str | None, str]]:
    """Status, Content-ID and body of each part of the answer."""
    assert answer.status == 200, answer.body
    head = f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n".encode()
    found = []
    for item in BytesParser().parsebytes(head + answer.body).get_payload():
        inner = item.get_payload()
        status, _, rest = inner.partition("\r\n")
        found.append((int(status.split()[1]), item["Content-ID"], rest.partition("\r\n\r\n")[2]))
    return found


def path_of(bucket: Any, name: str = "") -> str:
    return f"/storage/v1/b/{bucket.name}/o" + (f"/{name}" if name else "")


@pytest.mark.parity("Cloud Storage: batches")
def test_answers_come_in_order(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("a").upload_from_string("x")
    found = answers(
        batch(
            emulator,
            part(f"DELETE {path_of(bucket, 'a')}"),
            part(f"DELETE {path_of(bucket, 'nothing')}"),
            part(f"GET /storage/v1/b/{bucket.name}"),
        )
    )
    assert [status for status, _, _ in found] == [204, 404, 200]


def test_content_ids_are_answered(emulator: Daemon, bucket: Any) -> None:
    found = answers(
        batch(
            emulator,
            part(f"GET /storage/v1/b/{bucket.name}", content_id="<id+1>"),
            part(f"GET /storage/v1/b/{bucket.name}"),
        )
    )
    assert [content_id for _, content_id, _ in found] == ["<response-id+1>", None]


def test_bodies_are_read(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("a").upload_from_string("x")
    answers(batch(emulator, part(f"PATCH {path_of(bucket, 'a')}", body={"metadata": {"k": "v"}})))
    assert bucket.get_blob("a").metadata == {"k": "v"}


def test_with_the_token(emulator: Daemon, bucket: Any) -> None:
    answer = batch(
        emulator, part(f"GET /storage/v1/b/{bucket.name}"), base=emulator.url, token=emulator.token
    )
    assert answers(answer)[0][0] == 200


def test_a_part_cannot_bring_its_own_token(emulator: Daemon, bucket: Any) -> None:
    line = f"GET /storage/v1/b/{bucket.name} HTTP/1.1\r\nAuthorization: Bearer {emulator.token}\r\n\r\n"
    answer = batch(emulator, f"Content-Type: application/http\r\n\r\n{line}", base=emulator.url)
    assert answer.status == 401


@pytest.mark.parity("Cloud Storage: batches", same="without uploads, downloads and further batches")
@pytest.mark.parametrize(
    "line",
    [
        pytest.param("POST /batch/storage/v1", id="batch"),
        pytest.param("POST /upload/storage/v1/b/{bucket}/o?uploadType=media&name=x", id="upload"),
        pytest.param("GET /download/storage/v1/b/{bucket}/o/a", id="download"),
        pytest.param("GET /storage/v1/b/{bucket}/o/a?alt=media", id="media"),
        pytest.param("GET /v1/projects/local/locations/us-central1/customJobs", id="another service"),
        pytest.param("GET /_local/info", id="control"),
        pytest.param("GET http://127.0.0.1/v1/projects/p", id="another service by address"),
    ],
)
def test_what_does_not_go_into_a_batch(emulator: Daemon, bucket: Any, line: str) -> None:
    bucket.blob("a").upload_from_string("x")
    ((status, _, body),) = answers(batch(emulator, part(line.format(bucket=bucket.name))))
    assert (status, "Send this" in body) == (400, True)


@pytest.mark.parity("Cloud Storage: batches")
@pytest.mark.parametrize(("count", "status"), [(100, 200), (101, 400)])
def test_how_many_calls(emulator: Daemon, bucket: Any, count: int, status: int) -> None:
    assert batch(emulator, *[part(f"GET /storage/v1/b/{bucket.name}")] * count).status == status


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"--edge--", id="no part"),
        pytest.param(b"--edge\r\nContent-Type: application/http\r\n\r\nGET / HTTP/1.1\r\n\r\n", id="no end"),
        pytest.param(b"--edge\r\nContent-Type: text/plain\r\n\r\nGET / HTTP/1.1\r\n--edge--", id="type"),
        pytest.param(b"--edge\r\nContent-Type: application/http\r\n\r\nnonsense\r\n--edge--", id="line"),
        pytest.param(b"--edge--\r\n--edge\r\n\r\n--edge--", id="two ends"),
        pytest.param(b"--edge\r\nno header\r\n\r\n--edge--", id="header"),
    ],
)
def test_malformed_batches(emulator: Daemon, body: bytes) -> None:
    assert batch(emulator, body=body).status == 400


@pytest.mark.parametrize(
    "content_type", ["application/json", "multipart/mixed", "multipart/mixed; boundary="]
)
def test_content_types_that_are_none(emulator: Daemon, content_type: str) -> None:
    assert batch(emulator, part("GET /"), headers={"Content-Type": content_type}).status == 400


def test_a_part_cannot_forge_headers_of_the_answer(emulator: Daemon, bucket: Any) -> None:
    found = batch(emulator, part(f"GET /storage/v1/b/{bucket.name}", content_id="<a>\x0bX: y\r"))
    assert b"\nX: y" not in found.body
