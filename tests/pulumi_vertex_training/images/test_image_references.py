"""Names of images."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.images.image import canonical_name, repository_of

DIGEST = "sha256:" + "a" * 64

NAMES = [
    pytest.param("python", "docker.io/library/python", id="official"),
    pytest.param("python:3.11", "docker.io/library/python:3.11", id="official with a tag"),
    pytest.param("user/image", "docker.io/user/image", id="of a user"),
    pytest.param(
        "gcr.io/deeplearning-platform-release/tf2-gpu.2-8",
        "gcr.io/deeplearning-platform-release/tf2-gpu.2-8",
        id="host",
    ),
    pytest.param("localhost/a", "localhost/a", id="localhost"),
    pytest.param("localhost:5000/a:b", "localhost:5000/a:b", id="port"),
    pytest.param(f"a/b@{DIGEST}", f"docker.io/a/b@{DIGEST}", id="digest"),
    pytest.param(f"x.y/a:t@{DIGEST}", f"x.y/a:t@{DIGEST}", id="tag and digest"),
    pytest.param("us-docker.pkg.dev/p/r/i__x.y-z", "us-docker.pkg.dev/p/r/i__x.y-z", id="separators"),
]


@pytest.mark.parametrize(("text", "expected"), NAMES)
def test_a_name(text: str, expected: str) -> None:
    assert canonical_name(text) == expected


@pytest.mark.parametrize(
    "text", ["", "Python", "a b", "a:", "a@sha256:1", "a//b", "-a", "a:b:c", "gcr.io/", "gcr.io/A", "a..b"]
)
def test_no_name(text: str) -> None:
    assert canonical_name(text) is None


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        pytest.param("gcr.io/a/b", "gcr.io/a/b", id="alone"),
        pytest.param("gcr.io/a/b:c", "gcr.io/a/b", id="tag"),
        pytest.param(f"gcr.io/a/b:c@{DIGEST}", "gcr.io/a/b", id="tag and digest"),
        pytest.param("localhost:5000/a", "localhost:5000/a", id="a port is no tag"),
    ],
)
def test_the_repository_of_a_name(name: str, repository: str) -> None:
    assert repository_of(name) == repository
