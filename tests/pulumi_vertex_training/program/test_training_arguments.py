"""Findings about the arguments of a `DistributedTraining` are reported in the program, all at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt
from pulumi_vertex_training.kinds.distributed_training.resource import _uris
from pulumi_vertex_training.program.arguments.worker_pools import Tasks, filled

MACHINE = {"machine_spec": {"machine_type": "n1-standard-4"}}


def refusal(**arguments: Any) -> list[str]:
    with pytest.raises(pulumi.RunError) as raised:
        vt.DistributedTraining("train", **{"chief": MACHINE, "image": "python:3.11", **arguments})
    return [line.removeprefix("train: ") for line in str(raised.value).split("\n")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"image": {"base_image": "b"}}, "image.source is missing"),
        ({"package": {}, "executor_image_uri": "b"}, "package.source is missing"),
        ({"image": {"source": "s", "opts": None}}, "image.opts: unknown argument"),
        (
            {"image": {"source": "s", "sorce": "s"}},
            "image.sorce: unknown argument; did you mean source",
        ),
        ({"bucket": {"resource_name": "b"}}, "bucket.resource_name: unknown argument"),
        (
            {"image": {"source": "s"}, "repository": {"lables": {}}},
            "repository.lables: unknown argument; did you mean labels",
        ),
        ({"chief": None}, "chief is None; give a pool"),
        ({"evaluator": [MACHINE]}, "evaluator is [{'machine_spec'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_argument_is_checked(arguments: dict[str, Any], says: str) -> None:
    (line,) = refusal(**arguments)
    assert line.startswith(says)


def test_all_of_it_is_said_at_once() -> None:
    lines = refusal(chief=3, image={}, package={"colour": "red"}, wiat="done")
    assert [line.split()[0] for line in lines] == [
        "chief",
        "image.source",
        "package.colour:",
        "package.source",
        "wiat:",
    ]


@pytest.mark.parametrize(
    "given",
    ["gs://b/p.whl", ["gs://b/p.whl"], ("gs://b/p.whl",)],
    ids=["one address", "a list", "a tuple"],
)
def test_packages_that_exist(given: Any) -> None:
    tasks = Tasks(package_uris=_uris(given), executor_image_uri="b")
    pool: Any = filled(MACHINE, tasks)
    assert pool["python_package_spec"]["package_uris"] == ["gs://b/p.whl"]


def test_packages_may_be_known_later() -> None:
    async def uris() -> Any:
        given = pulumi.Output.from_input("gs://b/p.whl")
        pool: Any = filled(MACHINE, Tasks(package_uris=_uris(given), executor_image_uri="b"))
        return await pool["python_package_spec"]["package_uris"].future()

    assert asyncio.run(uris()) == ("gs://b/p.whl",)
