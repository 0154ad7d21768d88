"""Malformed requests get an error response and touch nothing outside of the registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import running, send_bytes
from support.emulated.registries.registry import (
    OCI_MANIFEST,
    RegistryClient,
    descriptor,
    manifest,
    new_name,
    sha256,
)
from support.properties import examples
from vertex_emulator.server.http.messages import HttpError
from vertex_emulator.services.container_registry.errors import RegistryError
from vertex_emulator.services.container_registry.manifests import INDEXES, MANIFESTS, read_manifest

FEW = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
FIELDS = (
    "schemaVersion",
    "mediaType",
    "config",
    "layers",
    "manifests",
    "subject",
    "artifactType",
    "annotations",
)
PARTS = st.sampled_from(
    [
        *("..", ".", "", "%2F", "%2e%2e", "%00", "a", "A", "docker.io", "manifests", "blobs", "uploads"),
        "tags",
        "list",
        "latest",
        "sha256:" + "a" * 64,
        "sha256:../../token",
        "x" * 3000,
        "é",
        "_catalog",
        "referrers",
        "\\",
    ]
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryClient]:
    with running(tmp_path_factory.mktemp("fuzzed") / "data") as daemon:
        client = RegistryClient(daemon.url, daemon.token, new_name())
        client.push_image("v1")
        yield client
        assert client.ask("GET", "manifests/v1").status == 200


@FEW
@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"]),
    parts=st.lists(PARTS, max_size=7),
    body=st.binary(max_size=50) | st.none(),
)
def test_any_path(target: RegistryClient, method: str, parts: list[str], body: bytes | None) -> None:
    path = "/v2/" + "/".join(quote(part, safe="%:") for part in parts)
    answer = target.ask(method, path, body=None if method in ("GET", "HEAD") else body)
    assert answer.status < 500


@FEW
@given(header=st.text(alphabet="0123456789-*/ bytes=,", max_size=40))
def test_any_content_range(target: RegistryClient, header: str) -> None:
    assert target.ask("PATCH", target.begin(), body=b"12345", Content_Range=header).status in (202, 400, 416)


@FEW
@given(header=st.text(alphabet="0123456789-*/ bytes=,", max_size=40))
def test_any_range(target: RegistryClient, header: str) -> None:
    digest = target.push_blob(b"12345")
    assert target.ask("GET", f"blobs/{digest}", Range=header).status in (200, 206, 416)


@FEW
@given(
    query=st.dictionaries(
        st.sampled_from(["n", "last", "artifactType", "digest", "mount", "from"]), st.text()
    )
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "tags/list"),
        ("GET", f"referrers/{sha256(b'x')}"),
        ("POST", "blobs/uploads/"),
        ("GET", "/v2/_catalog"),
    ],
)
def test_any_query(target: RegistryClient, method: str, path: str, query: dict[str, str]) -> None:
    text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    assert target.ask(method, f"{path}?{text}").status < 500


@FEW
@given(value=JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_any_manifest(target: RegistryClient, value: object) -> None:
    assert 400 <= target.put_manifest("fuzz", json.dumps(value).encode()).status < 500


@FEW
@given(content=st.binary(max_size=200))
@pytest.mark.parametrize("media_type", [*MANIFESTS, *INDEXES])
def test_any_bytes_as_a_manifest(content: bytes, media_type: str) -> None:
    with pytest.raises(RegistryError) as caught:
        read_manifest(content, media_type)
    assert caught.value.status == 400


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), index=st.booleans())
def test_a_manifest_with_one_other_value(data: st.DataObject, index: bool) -> None:
    """Replace one field of a valid manifest. It is either parsed or rejected."""
    value = json.loads(manifest([descriptor(b"a")], subject=descriptor(b"b"), annotations={"c": "d"}))
    name = data.draw(
        st.sampled_from([*FIELDS, "layers.0", "config.digest", "config.size", "layers.0.mediaType"])
    )
    *path, last = name.split(".")
    holder = value
    for step in path:
        holder = holder[int(step) if step.isdigit() else step]
    holder[int(last) if last.isdigit() else last] = data.draw(JSON)
    try:
        read_manifest(json.dumps(value).encode(), INDEXES[0] if index else OCI_MANIFEST)
    except HttpError as error:
        assert error.status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/v2/../token",
        "/v2/docker.io/../../token",
        "/v2/docker.io/a/blobs/sha256:../../../token",
        "/v2/%2e%2e/token",
        "/v2/docker.io/a/blobs/uploads/../../../token",
        "/v2/docker.io/a/manifests/..%2f..%2ftoken",
    ],
)
def test_no_path_leads_out(target: RegistryClient, path: str) -> None:
    head = ("Host: 127.0.0.1", f"Authorization: Bearer {target.token}", "Connection: close", "", "")
    answer = send_bytes(target.url, f"GET {path} HTTP/1.1\r\n".encode() + "\r\n".join(head).encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"404")
    assert target.token.encode() not in answer


def test_nothing_was_written_outside_of_the_registry(tmp_path: Path) -> None:
    def others() -> set[Path]:
        """Return all files but those of the registry, and of those who make their own a little later."""
        own = ("registry", "state.sqlite3", "proxy")
        return {path for path in tmp_path.rglob("*") if not any(part.startswith(own) for part in path.parts)}

    with running(tmp_path / "data") as daemon:
        before = others()
        client = RegistryClient(daemon.url, daemon.token, "docker.io/../x")
        client.ask("POST", "blobs/uploads/?digest=sha256:../../../x", body=b"x")
        client.ask("PATCH", "blobs/uploads/..%2f..%2fx", body=b"x")
        client.ask("PUT", f"blobs/uploads/..%2f..%2fx?digest={sha256(b'x')}", body=b"x")
        assert others() == before
