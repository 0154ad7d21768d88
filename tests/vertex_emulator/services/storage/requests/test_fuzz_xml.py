"""The XML API: whatever a client sends gets an answer in XML, and never an internal error."""

from __future__ import annotations

import contextlib
import string
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.emulated.services.storage import ask
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.server.http.messages import Body
from vertex_emulator.services.storage.xml.documents import MalformedError, read

FEW = settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BUCKET = "fuzzed-xml"

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿"), max_size=12)
NUMBERS = st.integers(-5, 2**70).map(str) | st.sampled_from(["²", "٣", "1e3", " 1", "0x1", "-0", "00"])
VALUES = TEXT | NUMBERS
PARAMETERS = st.dictionaries(
    st.sampled_from(
        [
            *(
                "uploads",
                "uploadId",
                "partNumber",
                "upload_id",
                "location",
                "versions",
                "prefix",
                "delimiter",
            ),
            *("list-type", "max-keys", "marker", "generation-marker", "start-after", "continuation-token"),
            *("encoding-type", "max-uploads", "key-marker", "upload-id-marker", "max-parts", "generation"),
            *("part-number-marker", "response-content-type", "response-content-disposition", "acl", "x"),
        ]
    ),
    VALUES,
    max_size=4,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            *("Range", "If-Match", "If-None-Match", "Content-MD5", "Content-Type", "Content-Encoding"),
            *("x-goog-hash", "x-goog-if-generation-match", "x-goog-if-metageneration-match"),
            *("x-goog-if-generation-not-match", "x-goog-custom-time", "x-goog-storage-class", "x-goog-acl"),
            *(
                "x-goog-meta-a",
                "x-goog-resumable",
                "x-goog-copy-source",
                "x-goog-encryption-key",
                "Cache-Control",
            ),
        ]
    ),
    st.text(string.printable[:95], max_size=20)
    | st.sampled_from(["start", "bytes=0-0", "STANDARD", "0", "*"]),
    max_size=3,
)
NAMES = st.lists(st.sampled_from(["", ".", "..", "a", "b c", "%", "é", "\x00", "\n", "x" * 300]), max_size=4)
TAGS = st.sampled_from(["CompleteMultipartUpload", "Part", "PartNumber", "ETag", "x:Part", "a"])
DOCUMENTS = st.recursive(
    TEXT | NUMBERS | st.sampled_from(["<!DOCTYPE a>", "&a;", "<![CDATA[", "&#0;", "<!--"]),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", TAGS, st.lists(inner, max_size=3)
    ),
    max_leaves=12,
).map(str.encode)


@FEW
@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"]),
    name=NAMES,
    parameters=PARAMETERS,
    headers=HEADERS,
    body=st.binary(max_size=20) | DOCUMENTS,
)
def test_any_request(
    emulator: Daemon,
    storage: Any,
    method: str,
    name: list[str],
    parameters: dict[str, str],
    headers: dict[str, str],
    body: bytes,
) -> None:
    if not storage.bucket(BUCKET).exists():
        storage.create_bucket(BUCKET)
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in parameters.items())
    path = f"/{BUCKET}/{quote('/'.join(name), safe='/')}?{query}"
    sent = None if method in ("GET", "HEAD") else body
    answer = ask(emulator, method, path, sent, headers=headers)
    assert answer.status < 500, (method, path, headers, answer.body)
    if answer.body and "xml" in answer.headers["Content-Type"] and b"&#0;" not in answer.body:
        ElementTree.fromstring(answer.body)


@settings(max_examples=examples(300), deadline=None)
@given(DOCUMENTS | st.binary(max_size=100))
def test_any_document(data: bytes) -> None:
    with contextlib.suppress(MalformedError):
        assert read(Body(data)).name


def test_entities_are_not_expanded() -> None:
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 9))
    bomb = f"<!DOCTYPE a [<!ENTITY e0 'x'>{entities}]><a>&e8;</a>"
    try:
        read(Body(bomb.encode()))
    except MalformedError as error:
        assert "document type" in str(error)
    else:
        raise AssertionError("a document type was read")
