from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cloud.container_registry.image_names import is_tag, parse

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("python", "docker.io/library/python"),
        ("python:3.11", "docker.io/library/python:3.11"),
        ("bitnami/spark", "docker.io/bitnami/spark"),
        ("index.docker.io/library/python", "docker.io/library/python"),
        ("gcr.io/a/b", "gcr.io/a/b"),
        ("localhost/a", "localhost/a"),
        ("localhost:5000/a:1", "localhost:5000/a:1"),
        ("a:1", "docker.io/library/a:1"),
        (f"us-docker.pkg.dev/p/r/i:v1@{DIGEST}", f"us-docker.pkg.dev/p/r/i:v1@{DIGEST}"),
    ],
)
def test_the_one_spelling_of_a_name(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    "text", ["", "Python", "a//b", "a:", "a@sha256:1", "https://gcr.io/a", "a b", "gcr.io/", "GCR.IO/A"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not an image name"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "reference"),
    [("gcr.io/a", "latest"), ("gcr.io/a:1", "1"), (f"gcr.io/a:1@{DIGEST}", DIGEST)],
)
def test_what_a_registry_is_asked_for(text: str, reference: str) -> None:
    assert parse(text).reference == reference


@pytest.mark.parametrize(
    ("host", "google_s"),
    [
        ("gcr.io", True),
        ("eu.gcr.io", True),
        ("us-central1-docker.pkg.dev", True),
        ("docker.pkg.dev.example.com", False),
        ("evilgcr.io", False),
        ("gcr.io.example.com", False),
        ("docker.io", False),
    ],
)
def test_whose_host_it_is(host: str, google_s: bool) -> None:
    assert parse(f"{host}/p/i").is_google_host is google_s


NAMES = st.builds(
    lambda host, path, reference: host + "/".join(path) + reference,
    st.sampled_from(["", "gcr.io/", "localhost/", "a.b:5000/", "docker.io/"]),
    st.lists(st.sampled_from(["a", "a1", "a-b", "a.b", "a__b", "A", "-"]), min_size=1, max_size=3),
    st.sampled_from(["", ":1", ":A_b.c", f"@{DIGEST}", f":1@{DIGEST}", ":-"]),
)


@given(NAMES | st.text(alphabet="aA.:/@-_1", max_size=20))
def test_a_name_that_is_read_is_read_again_as_itself(text: str) -> None:
    with contextlib.suppress(ValueError):
        name = parse(text)
        assert parse(str(name)) == name


def test_another_reference_of_the_same_repository() -> None:
    name = parse("gcr.io/a:1")
    assert str(name.at("2")) == "gcr.io/a:2"
    assert str(name.at(DIGEST)) == f"gcr.io/a@{DIGEST}"


@pytest.mark.parametrize(("text", "tag"), [("v1.2_x-3", True), ("-a", False), ("", False), ("a/b", False)])
def test_what_can_be_a_tag(text: str, tag: bool) -> None:
    assert is_tag(text) is tag
