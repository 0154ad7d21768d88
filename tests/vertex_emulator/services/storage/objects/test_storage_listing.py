"""Lists of objects: order, folding at a delimiter, pages, versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.api_core.exceptions import NotFound
from hypothesis import given, settings
from hypothesis import strategies as st

from support.emulated.emulator import call
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.disk.records import ObjectRow, object_of
from vertex_emulator.services.storage.names import after_prefix
from vertex_emulator.services.storage.objects.listing import Folded, Query, entries, objects_text
from vertex_emulator.services.storage.resources import object_resource

NAMES = ["a.txt", "b/1", "b/2", "b/c/3", "b/c/4", "bb", "c/", "c/x", "z/y/x"]


def fill(bucket: Any, names: list[str]) -> None:
    for name in names:
        bucket.blob(name).upload_from_string("")


def listed(bucket: Any, **options: Any) -> tuple[list[str], list[str]]:
    found = bucket.list_blobs(**options)
    names = [blob.name for blob in found]
    return names, sorted(found.prefixes)


@pytest.mark.parity("Cloud Storage: buckets and objects")
def test_prefix_delimiter_and_offsets(bucket: Any) -> None:
    fill(bucket, list(reversed(NAMES)))
    assert listed(bucket) == (sorted(NAMES), [])
    assert listed(bucket, prefix="b") == (["b/1", "b/2", "b/c/3", "b/c/4", "bb"], [])
    assert listed(bucket, prefix="b/") == (["b/1", "b/2", "b/c/3", "b/c/4"], [])
    assert listed(bucket, delimiter="/") == (["a.txt", "bb"], ["b/", "c/", "z/"])
    assert listed(bucket, prefix="b/", delimiter="/") == (["b/1", "b/2"], ["b/c/"])
    assert listed(bucket, prefix="b", delimiter="/") == (["bb"], ["b/"])
    assert listed(bucket, prefix="c/", delimiter="/") == (["c/", "c/x"], [])
    assert listed(bucket, start_offset="b/2", end_offset="bb") == (["b/2", "b/c/3", "b/c/4"], [])
    assert listed(bucket, start_offset="b/c/4", delimiter="/", end_offset="c") == (["bb"], ["b/"])
    assert listed(bucket, prefix="nothing") == ([], [])
    assert listed(bucket, prefix="b/", start_offset="a", end_offset="b/2") == (["b/1"], [])


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_hold_everything_once(bucket: Any, size: int) -> None:
    fill(bucket, NAMES)
    assert listed(bucket, page_size=size) == (sorted(NAMES), [])
    assert listed(bucket, page_size=size, delimiter="/") == (["a.txt", "bb"], ["b/", "c/", "z/"])
    for page in bucket.list_blobs(page_size=size, delimiter="/").pages:
        assert page.num_items + len(page.prefixes) <= size


def test_a_page_token_survives_deletions(bucket: Any) -> None:
    fill(bucket, NAMES)
    seen = []
    for page in bucket.list_blobs(page_size=2).pages:
        for blob in page:
            seen.append(blob.name)
            blob.delete()
    assert seen == sorted(NAMES)


@pytest.mark.parametrize("token", ["!", "bm8=", "WzEsMl0=", "WyJhIiwgLTFd", "WyJhIiwgdHJ1ZV0", "x" * 5000])
def test_bad_page_tokens(emulator: Daemon, bucket: Any, token: str) -> None:
    answer = call(emulator.storage_url, "GET", f"/storage/v1/b/{bucket.name}/o?pageToken={token}")
    assert answer.status == 400
    assert answer.message == "Invalid page token."


def test_lists_of_a_bucket_that_is_not_there(storage: Any) -> None:
    with pytest.raises(NotFound, match="The specified bucket does not exist"):
        list(storage.list_blobs("no-such-bucket"))


def test_partial_lists(emulator: Daemon, bucket: Any) -> None:
    fill(bucket, ["a", "b"])
    fields = "fields=items(name,size),nextPageToken&maxResults=1"
    answer = call(emulator.storage_url, "GET", f"/storage/v1/b/{bucket.name}/o?{fields}").json()
    assert answer == {"items": [{"name": "a", "size": "0"}], "nextPageToken": answer["nextPageToken"]}


@pytest.mark.parity("Cloud Storage: buckets and objects")
def test_versions(storage: Any, bucket: Any, emulator: Daemon) -> None:
    bucket.versioning_enabled = True
    bucket.patch()
    others = set(emulator.folder.aside.iterdir())
    generations = []
    for text in ("one", "two", "three"):
        blob = bucket.blob("a/o")
        blob.upload_from_string(text)
        generations.append(blob.generation)
    fill(bucket, ["a/p"])
    assert [blob.name for blob in bucket.list_blobs()] == ["a/o", "a/p"]
    found = list(bucket.list_blobs(versions=True))
    assert [(blob.name, blob.generation) for blob in found[:3]] == [("a/o", each) for each in generations]
    assert [blob.time_deleted is None for blob in found] == [False, False, True, True]
    assert [bucket.blob("a/o", generation=each).download_as_text() for each in generations] == [
        "one",
        "two",
        "three",
    ]
    bucket.blob("a/o").delete()
    assert [blob.name for blob in bucket.list_blobs()] == ["a/p"]
    assert not (emulator.folder.buckets / bucket.name / "a" / "o").exists()
    assert bucket.blob("a/o", generation=generations[2]).download_as_text() == "three"
    with pytest.raises(NotFound):
        bucket.blob("a/o").reload()
    bucket.blob("a/o", generation=generations[0]).delete()
    with pytest.raises(NotFound):
        bucket.blob("a/o", generation=generations[0]).reload()
    paged = [blob.generation for blob in bucket.list_blobs(versions=True, page_size=1)]
    assert paged[:2] == generations[1:]
    bucket.delete(force=True)
    assert not bucket.exists()
    assert set(emulator.folder.aside.iterdir()) == others


def test_versions_are_kept_only_while_versioning_is_on(bucket: Any) -> None:
    bucket.blob("o").upload_from_string("before")
    bucket.versioning_enabled = True
    bucket.patch()
    bucket.blob("o").upload_from_string("during")
    bucket.versioning_enabled = False
    bucket.patch()
    bucket.blob("o").upload_from_string("after")
    found = [blob.download_as_text() for blob in bucket.list_blobs(versions=True)]
    assert found == ["before", "after"]
    bucket.blob("o").delete()
    assert [blob.download_as_text() for blob in bucket.list_blobs(versions=True)] == ["before"]


class Memory:
    """The one method of the store that lists use, over a list."""

    def __init__(self, names: set[str]) -> None:
        self.stored = [made(name) for name in sorted(names)]

    def rows(
        self, _: str, *, versions: bool, soft_deleted: bool, after: Any, start: str, end: str | None
    ) -> Any:
        assert not versions and not soft_deleted
        for each in self.stored:
            if (
                (each.name, each.generation) > after
                and each.name >= start
                and (end is None or each.name < end)
            ):
                yield each


def made(name: str, **fields: Any) -> ObjectRow:
    row = ObjectRow("b", name, 1, 1, 1, 0, "", "", "", "", None, "{}", None, None, 0, 0)
    return row._replace(**fields)


MOMENTS = st.none() | st.just("2026-01-02T03:04:05.678Z")


@given(
    row=st.builds(
        made,
        st.text(min_size=1, max_size=20),
        generation=st.integers(1, 2**53) | st.integers(2**49 - 2, 2**56 + 2),
        metageneration=st.integers(1, 300),
        size=st.integers(0, 2**40),
        md5=st.sampled_from(["", "ndTkYSaMgDT1yFZOFVxnpg=="]),
        created=MOMENTS.filter(bool),
        deleted=MOMENTS,
        soft_deleted=MOMENTS,
        class_updated=MOMENTS,
        retained_until=MOMENTS,
        components=st.none() | st.integers(1, 9),
        settings=st.fixed_dictionaries(
            {},
            optional={
                "contentType": st.text(max_size=9),
                "metadata": st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=2),
                "eventBasedHold": st.booleans(),
                "retention": st.just({"mode": "Locked", "retainUntilTime": "2027-01-02T03:04:05.678Z"}),
            },
        ).map(json.dumps),
    )
)
def test_a_listing_tells_of_an_object_what_it_tells_itself(row: ObjectRow) -> None:
    base_url = "http://127.0.0.1:1/s/secret"
    assert json.loads(objects_text([row], base_url)) == object_resource(object_of(row), base_url)


@settings(max_examples=examples(200), deadline=None)
@given(
    names=st.sets(st.text(alphabet="ab/\u00e9\U0010ffff", min_size=1, max_size=6), max_size=12),
    prefix=st.text(alphabet="ab/", max_size=3),
    delimiter=st.sampled_from(["", "/", "b", "/a"]),
    size=st.integers(1, 4),
)
def test_pages_equal_the_plain_definition(names: set[str], prefix: str, delimiter: str, size: int) -> None:
    expected: list[str] = []
    for name in sorted(names):
        if name.startswith(prefix):
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            shown = name if at < 0 else name[: at + len(delimiter)]
            if at < 0 or shown not in expected:
                expected.append(shown)
    found: list[str] = []
    store: Any = Memory(names)
    token = None
    while True:
        query = Query(bucket="b", prefix=prefix, delimiter=delimiter, after=token)
        page = [pair for _, pair in zip(range(size), entries(store, query), strict=False)]
        found += [entry.prefix if isinstance(entry, Folded) else entry.name for entry, _ in page]
        if len(page) < size:
            break
        token = page[-1][1]
    assert found == expected


@given(st.text(max_size=4), st.text(max_size=4))
def test_after_prefix_is_the_least_name_above(prefix: str, rest: str) -> None:
    upper = after_prefix(prefix)
    assert upper is None or prefix + rest < upper
    assert upper is None or not upper.startswith(prefix) or prefix == ""


def test_addresses_of_collections_may_end_with_a_slash(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("a").upload_from_string("x")
    for path, query in (("b", "?project=local"), (f"b/{bucket.name}", ""), (f"b/{bucket.name}/o", "")):
        one, other = (
            call(emulator.storage_url, "GET", f"/storage/v1/{path}{slash}{query}") for slash in ("", "/")
        )
        assert one.status == 200 and one.body == other.body, path
