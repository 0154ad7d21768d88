from __future__ import annotations

import pytest

from vertex_training.fields.uris import GcsUri, directory, parse


@pytest.mark.parametrize(
    ("uri", "parsed"),
    [
        ("gs://bucket", GcsUri("bucket")),
        ("gs://bucket/", GcsUri("bucket")),
        ("gs://bucket/a/b.txt", GcsUri("bucket", "a/b.txt")),
        ("gs://bucket/a/", GcsUri("bucket", "a/")),
    ],
)
def test_parse(uri, parsed):
    assert parse(uri) == parsed


@pytest.mark.parametrize("uri", ["bucket/a", "gs:/bucket", "gs://", "gs:///a", "https://bucket/a", ""])
def test_other_texts_than_addresses_are_rejected(uri):
    with pytest.raises(ValueError, match="gs://BUCKET/NAME"):
        parse(uri)


@pytest.mark.parametrize("uri", ["gs://bucket", "gs://bucket/a/b.txt", "gs://bucket/a/"])
def test_an_address_is_written_as_it_was_read(uri):
    assert str(parse(uri)) == uri


@pytest.mark.parametrize(
    ("base", "parts", "joined"),
    [
        ("gs://b", ("a",), "gs://b/a"),
        ("gs://b/x/", ("a", "c.txt"), "gs://b/x/a/c.txt"),
        ("gs://b/x", ("/a/", "c/"), "gs://b/x/a/c/"),
        ("gs://b/x", ("", "c"), "gs://b/x/c"),
    ],
)
def test_join(base, parts, joined):
    assert str(parse(base).join(*parts)) == joined


@pytest.mark.parametrize(
    ("uri", "path"), [("gs://b", "/gcs/b"), ("gs://b/a/c.txt", "/gcs/b/a/c.txt"), ("gs://b/a/", "/gcs/b/a/")]
)
def test_the_path_in_a_replica(uri, path):
    assert parse(uri).mounted == path


@pytest.mark.parametrize(
    ("uri", "normal"),
    [
        ("gs://b", "gs://b/"),
        ("gs://b/a", "gs://b/a/"),
        ("gs://b/a/", "gs://b/a/"),
        ("gs://b/a//", "gs://b/a/"),
        ("gs://", "gs://"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_directories_end_with_one_slash(uri, normal):
    assert directory(uri) == normal
    assert directory(normal) == normal
