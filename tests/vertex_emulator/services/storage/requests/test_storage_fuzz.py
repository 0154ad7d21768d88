"""Whatever is sent as a body or parameter gets an answer, and never an internal error."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.emulated.services.storage import BUCKETS, ask, path_of
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

_FIELDS = st.sampled_from(
    [
        *("cors", "retentionPolicy", "autoclass", "encryption", "lifecycle", "iamConfiguration", "labels"),
        *(
            "softDeletePolicy",
            "versioning",
            "website",
            "billing",
            "rpo",
            "customPlacementConfig",
            "retention",
        ),
        *("temporaryHold", "customTime", "metadata", "storageClass", "bindings", "version", "etag", "rule"),
        *("sourceObjects", "destination", "name", "generation", "objectPreconditions", "retentionPeriod"),
        *("mode", "retainUntilTime", "enabled", "isLocked", "dataLocations", "role", "members", "condition"),
    ]
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(
        ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "Locked", "ARCHIVE", "2026-02-30"]
    ),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.sampled_from(
    [
        ("PATCH", BUCKETS + "/{b}"),
        ("PUT", BUCKETS + "/{b}"),
        ("PUT", BUCKETS + "/{b}/iam"),
        ("POST", BUCKETS + "?project=local"),
        ("PATCH", "{o}?overrideUnlockedRetention=true"),
        ("PUT", "{o}"),
        ("POST", "{o}/compose"),
        ("POST", "{o}/copyTo/b/{b}/o/c"),
        ("POST", "{o}/rewriteTo/b/{b}/o/c"),
    ]
)
_REFUSED = (400, 403, 404, 409, 412)


@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(call=_CALLS, body=st.dictionaries(_FIELDS, _VALUES, max_size=3) | _VALUES)
def test_bodies(emulator: Daemon, storage: Any, call: tuple[str, str], body: Any) -> None:
    bucket = storage.bucket("fuzzed")
    if not bucket.exists():
        storage.create_bucket(bucket, enable_object_retention=True)
        bucket.blob("o").upload_from_string("x")
    path = call[1].format(b="fuzzed", o=path_of("fuzzed", "o"))
    answer = ask(emulator, call[0], path, body)
    assert answer.status == 200 or answer.status in _REFUSED, (path, body, answer.body)
    for read in (f"{BUCKETS}/fuzzed", path_of("fuzzed", "o"), f"{BUCKETS}/fuzzed/o?versions=true"):
        assert ask(emulator, "GET", read).status == 200, (path, body)


@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    value=st.text(max_size=12).map(lambda text: quote(text, safe="")) | st.integers().map(str),
    path=st.sampled_from(
        [
            "?generation={}&softDeleted=true",
            "/restore?generation={}",
            "/moveTo/o/{}",
            "/rewriteTo/b/some-bucket/o/c?rewriteToken={}",
            "/rewriteTo/b/some-bucket/o/c?maxBytesRewrittenPerCall={}",
            "/copyTo/b/{}/o/c",
        ]
    ),
)
def test_parameters(emulator: Daemon, storage: Any, value: str, path: str) -> None:
    if not (bucket := storage.bucket("some-bucket")).exists():
        storage.create_bucket(bucket)
    bucket.blob("o").upload_from_string("x")
    method = "GET" if "softDeleted" in path else "POST"
    answer = ask(emulator, method, path_of("some-bucket", "o") + path.format(value))
    assert answer.status == 200 or answer.status in _REFUSED, (value, path, answer.body)
