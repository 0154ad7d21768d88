"""Names of any kind: resource names as prefixes of objects, and what people bring as repository or image."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.core.autonaming import id_from, object_prefix
from pulumi_vertex_training.kinds.image_repository import spec as image_repository
from pulumi_vertex_training.kinds.model.rules import registry_problems
from pulumi_vertex_training.kinds.persistent_resource.rules import id_problems
from pulumi_vertex_training.program.arguments.job_args import ContainerSpecArgs, PythonPackageSpecArgs
from pulumi_vertex_training.program.arguments.references import (
    artifact_registry_url,
    image_uri,
    repository_url,
)
from pulumi_vertex_training.program.arguments.worker_pools import with_names_and_counts
from vertex_training.findings.options import CheckOptions


def known(make: Callable[[], Any]) -> Any:
    """Return the result of a value that is made inside a program, where Outputs work."""

    async def wait() -> Any:
        return await pulumi.Output.from_input(make()).future()

    return asyncio.run(wait())


@pytest.mark.parametrize("name", ["train", "my job", "a/b", "übung", "a$b", "..train", "train#1"])
def test_a_name_that_is_a_path_stays(name: str) -> None:
    assert object_prefix(name) == name


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("../x", "x"),
        ("a/../b", "a/b"),
        ("a//b", "a/b"),
        ("/a/", "a"),
        ("a\nb", "a-b"),
        (".", "unnamed"),
        ("..", "unnamed"),
    ],
)
def test_what_a_path_cannot_hold_is_left_out(name: str, prefix: str) -> None:
    assert object_prefix(name) == prefix


@pytest.mark.parametrize(
    ("program", "stack", "name", "id_"),
    [
        ("training", "dev", "digits", "training-dev-digits"),
        ("Training", "dev", "Digits of Alice", "training-dev-digits-of-alice"),
        ("7segments", "dev", "a_b", "t-7segments-dev-a-b"),
        ("training", "dev", "x" * 80, f"training-dev-{'x' * 41}-6882e226"),
    ],
)
def test_an_id_is_made_of_the_names_of_program_stack_and_resource(
    program: str, stack: str, name: str, id_: str
) -> None:
    made = id_from({"project": program, "stack": stack, "resource": name})
    assert made == id_
    options = CheckOptions()
    assert not list(registry_problems(made, None, options))
    assert not list(id_problems(made))


def test_long_names_that_begin_alike_make_different_ids() -> None:
    ends = ("first", "second")
    made = {id_from({"project": "p", "stack": "dev", "resource": "x" * 80 + end}) for end in ends}
    assert len(made) == 2
    assert all(len(each) <= 63 for each in made)


def resource(**properties: str) -> Any:
    """Return a resource with these outputs."""
    return SimpleNamespace(**{name: pulumi.Output.from_input(value) for name, value in properties.items()})


@pytest.mark.parametrize(
    ("make", "address"),
    [
        pytest.param(lambda: "gcr.io/p", "gcr.io/p", id="a string"),
        pytest.param(lambda: pulumi.Output.from_input("gcr.io/p"), "gcr.io/p", id="an Output"),
        pytest.param(lambda: resource(url="us-docker.pkg.dev/p/r"), "us-docker.pkg.dev/p/r", id="ours"),
        pytest.param(
            lambda: resource(project="example.com:p", location="europe", repository_id="r"),
            "europe-docker.pkg.dev/example.com/p/r",
            id="pulumi_gcp's",
        ),
    ],
)
def test_the_address_of_a_repository(make: Callable[[], Any], address: str) -> None:
    assert known(lambda: repository_url(make())) == address


@pytest.mark.parametrize("project", ["p", "example.com:web"])
def test_somebody_elses_repository_is_addressed_as_ours(project: str) -> None:
    """Compare the two copies of the rule: the program's package imports no kind."""
    place = (project, "europe-west4", "images")
    assert artifact_registry_url(*place) == image_repository.url(*place)


IMAGE = "gcr.io/p/i@sha256:1"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: IMAGE, id="a string"),
        pytest.param(lambda: pulumi.Output.from_input(IMAGE), id="an Output"),
        pytest.param(lambda: resource(uri=IMAGE), id="ours"),
        pytest.param(lambda: resource(ref=IMAGE, digest="sha256:1"), id="pulumi_docker_build's"),
        pytest.param(lambda: resource(repo_digest=IMAGE, image_name="i"), id="pulumi_docker's"),
    ],
)
def test_the_name_of_an_image(make: Callable[[], Any]) -> None:
    assert known(lambda: image_uri(make())) == IMAGE


def test_a_container_takes_an_image() -> None:
    def task() -> Any:
        return pulumi.get(ContainerSpecArgs(image_uri=resource(uri=IMAGE)), "image_uri")

    assert known(task) == IMAGE


def test_a_package_takes_an_image_to_run_in() -> None:
    def task() -> Any:
        made = PythonPackageSpecArgs(
            executor_image_uri=resource(uri=IMAGE), package_uris=["gs://b/p"], python_module="m"
        )
        return pulumi.get(made, "executor_image_uri")

    assert known(task) == IMAGE


@pytest.mark.parametrize("image", ["image_uri", "imageUri"])
@pytest.mark.parametrize("task", ["container_spec", "containerSpec"])
def test_a_plain_pool_takes_an_image(task: str, image: str) -> None:
    def uri() -> Any:
        build = resource(ref=IMAGE, digest="sha256:1")
        pools = [{"replica_count": 1, task: {image: build, "args": ["a"]}}, {}]
        first, second = with_names_and_counts(pools)
        assert (first["replica_count"], first[task]["args"], second) == (1, ["a"], {})
        return first[task][image]

    assert known(uri) == IMAGE


def test_plain_pools_that_are_known_later_take_an_image() -> None:
    def uri() -> Any:
        pools = [{"python_package_spec": {"executor_image_uri": resource(repo_digest=IMAGE)}}]
        later = pulumi.Output.from_input(0).apply(lambda _: pools)
        return with_names_and_counts(later).apply(
            lambda found: found[0]["python_package_spec"]["executor_image_uri"]
        )

    assert known(uri) == IMAGE
