from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.staged.spec import EFFECTS, StagedObjectSpec, object_name, read, validate
from vertex_training.fields.decode import decode, encode
from vertex_training.fields.effects import Effect, effect_of

SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def staged(**fields) -> StagedObjectSpec:
    given = {"bucket": "staging", "object_name": "packages/trainer-0.1.tar.gz", "sha256": SHA256, "size": 0}
    return StagedObjectSpec(**{**given, **fields})


def test_a_content_addressed_name_ends_with_the_file_s_own():
    name = object_name("packages/", sha256=SHA256, file_name="trainer-0.1.tar.gz")
    assert name == "packages/e3b0c44298fc1c14/trainer-0.1.tar.gz"


def test_a_name_without_a_prefix():
    assert object_name("", sha256=SHA256, file_name="data.npz") == "e3b0c44298fc1c14/data.npz"


def test_the_uri():
    assert str(staged().uri) == "gs://staging/packages/trainer-0.1.tar.gz"
    assert staged().uri.mounted == "/gcs/staging/packages/trainer-0.1.tar.gz"


def test_decode_is_the_inverse_of_encode():
    assert decode(StagedObjectSpec, encode(staged(size=5))).spec == staged(size=5)
    assert read(encode(staged())).spec == staged()


@pytest.mark.parametrize(
    ("path", "effect"),
    [("sha256", Effect.REPLACE), ("object_name", Effect.REPLACE), ("content_type", Effect.UPDATE)],
)
def test_effects(path, effect):
    assert effect_of(path, EFFECTS).effect is effect


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"bucket": "B"}, "bucket", "bucket name"),
        ({"object_name": ""}, "object_name", "0 bytes"),
        ({"object_name": "ä" * 513}, "object_name", "1026 bytes"),
        ({"object_name": "a\nb"}, "object_name", "line break"),
        ({"object_name": ".."}, "object_name", "reserved"),
        ({"sha256": SHA256.upper()}, "sha256", "64 lowercase hex digits"),
        ({"size": -1}, "size", "0 or more"),
        ({"content_type": "gzip"}, "content_type", "application/gzip"),
    ],
)
def test_errors(change, path, words):
    problems = validate(staged(**change))
    assert {problem.path for problem in problems} == {path}
    assert words in problems[0].message


def test_a_valid_object_has_no_problems():
    assert validate(staged(content_type="text/plain; charset=utf-8")) == []
