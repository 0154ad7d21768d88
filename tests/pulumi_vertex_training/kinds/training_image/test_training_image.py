from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.kinds.training_image.spec import (
    TrainingImageSpec,
    image_name,
    normalise,
    validate,
)

RIGHT = {"repository": "us-central1-docker.pkg.dev/p/trainers", "name": "digits", "source": "trainer"}


def image(**fields: Any) -> TrainingImageSpec:
    return TrainingImageSpec(**{**RIGHT, **fields})


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("trainer", "trainer"),
        ("Train (A)", "train-a"),
        ("a/B", "a/b"),
        ("..", "image"),
        ("a._b", "a-b"),
        ("a--b_c.d", "a--b_c.d"),
        ("a---.b", "a-b"),
        ("übung", "bung"),
    ],
)
def test_the_default_name_of_an_image(given_name: str, name: str) -> None:
    assert image_name(given_name) == name


@given(st.text(max_size=30))
def test_every_resource_can_name_its_image(resource: str) -> None:
    assert validate(image(name=image_name(resource))) == []


@pytest.mark.parametrize(
    "repository", ["localhost:5000/a", "gcr.io/p", "docker.io/team", "europe-docker.pkg.dev/p/r"]
)
def test_repositories_of_any_host(repository: str) -> None:
    assert validate(image(repository=repository)) == []


@pytest.mark.parametrize("repository", ["", "trainers", "gcr.io", "p/trainers", "gcr.io/P", "gcr.io/p:1"])
def test_invalid_repositories(repository: str) -> None:
    assert [problem.path for problem in validate(image(repository=repository))] == ["repository"]


@pytest.mark.parametrize(
    "change",
    [{"repository": "https://us-central1-docker.pkg.dev/p/trainers/"}, {"tags": ("latest", "latest")}],
    ids=["a scheme and a slash", "a tag twice"],
)
def test_the_normal_form(change: dict[str, Any]) -> None:
    assert normalise(image(**change)) == image()


def test_the_order_of_tags_does_not_matter() -> None:
    assert normalise(image(tags=("b", "a"))) == normalise(image(tags=("a", "b")))


def test_the_image_in_its_repository() -> None:
    assert image().image == parse("us-central1-docker.pkg.dev/p/trainers/digits")


def test_build_bucket_with_another_builder() -> None:
    (problem,) = validate(image(builder="docker", build_bucket="b"))
    assert (problem.path, "does not go with the builder docker" in problem.message) == ("build_bucket", True)


def test_a_duplicate_tag() -> None:
    (problem,) = validate(image(tags=("a", "b", "a")))
    assert (problem.path, problem.message) == ("tags[2]", "'a' is given twice. Remove one")
