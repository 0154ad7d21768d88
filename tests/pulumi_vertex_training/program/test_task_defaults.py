"""Missing task fields of pools are filled in with a training's image and package; the rest stays."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt
from pulumi_vertex_training.program.arguments.worker_pools import (
    Tasks,
    filled,
    missing,
    with_names_and_counts,
)

MACHINE = {"machine_type": "n1-standard-4"}
IMAGE = Tasks(image_uri="r/image@sha256:1")
PACKAGE = Tasks(package_uris=("gs://b/p.tar.gz",), python_module="trainer.task", executor_image_uri="r/base")
BOTH = Tasks(
    image_uri="r/image@sha256:1",
    package_uris=("gs://b/p.tar.gz",),
    python_module="trainer.task",
    executor_image_uri="r/base",
)
INSTALLED = {
    "package_uris": ["gs://b/p.tar.gz"],
    "python_module": "trainer.task",
    "executor_image_uri": "r/base",
}


@pytest.mark.parametrize(
    ("pool", "tasks", "expected"),
    [
        pytest.param({}, IMAGE, {}, id="an unused pool stays unused"),
        pytest.param(
            {"machine_spec": MACHINE},
            IMAGE,
            {"machine_spec": MACHINE, "container_spec": {"image_uri": "r/image@sha256:1"}},
            id="without a task: the image",
        ),
        pytest.param(
            {"machine_spec": MACHINE},
            BOTH,
            {"machine_spec": MACHINE, "container_spec": {"image_uri": "r/image@sha256:1"}},
            id="without a task and with both: the image",
        ),
        pytest.param(
            {"machine_spec": MACHINE},
            PACKAGE,
            {"machine_spec": MACHINE, "python_package_spec": INSTALLED},
            id="without a task and an image: the package",
        ),
        pytest.param(
            {"container_spec": {"args": ["-v"]}},
            BOTH,
            {"container_spec": {"args": ["-v"], "image_uri": "r/image@sha256:1"}},
            id="a container without image",
        ),
        pytest.param(
            {"container_spec": {"image_uri": "mine"}},
            BOTH,
            {"container_spec": {"image_uri": "mine"}},
            id="a container with an image of its own",
        ),
        pytest.param(
            {"containerSpec": {"imageUri": "mine"}},
            BOTH,
            {"container_spec": {"imageUri": "mine"}},
            id="the API's spelling",
        ),
        pytest.param(
            {"python_package_spec": {"args": ["-v"]}},
            BOTH,
            {"python_package_spec": {"args": ["-v"], **INSTALLED}},
            id="a package spec without a package",
        ),
        pytest.param(
            {"python_package_spec": {"python_module": "other"}},
            BOTH,
            {"python_package_spec": {**INSTALLED, "python_module": "other"}},
            id="a package spec with a module of its own",
        ),
    ],
)
def test_what_is_left_open_is_filled_in(pool: Any, tasks: Tasks, expected: Any) -> None:
    assert filled(pool, tasks) == expected
    assert filled(filled(pool, tasks), tasks) == expected


def test_typed_pools_are_filled_in_without_touching_the_program_s_own() -> None:
    pool = vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        container_spec=vt.ContainerSpecArgs(args=["-v"]),
    )
    done: Any = filled(pool, IMAGE)
    assert pulumi.get(pulumi.get(done, "container_spec"), "image_uri") == "r/image@sha256:1"
    assert pulumi.get(pulumi.get(done, "container_spec"), "args") == ["-v"]
    assert pulumi.get(pulumi.get(pool, "container_spec"), "image_uri") is None


@pytest.mark.parametrize(
    ("pool", "tasks", "path"),
    [
        pytest.param({"machine_spec": MACHINE}, Tasks(), "chief: ", id="nothing to run"),
        pytest.param({"container_spec": {}}, PACKAGE, "chief.container_spec.image_uri", id="no image"),
        pytest.param(
            {"python_package_spec": {"executor_image_uri": "r/base"}},
            IMAGE,
            "chief.python_package_spec.package_uris",
            id="no package",
        ),
        pytest.param(
            {"python_package_spec": {"package_uris": ["gs://b/p"]}},
            IMAGE,
            "chief.python_package_spec.executor_image_uri",
            id="no executor",
        ),
    ],
)
def test_what_is_left_open_and_not_given_is_named(pool: Any, tasks: Tasks, path: str) -> None:
    (line,) = missing("chief", pool, tasks)
    assert line.startswith(path)
    assert "give one of them" in line


@pytest.mark.parametrize("pool", [None, {}])
def test_an_unused_pool_misses_nothing(pool: Any) -> None:
    assert missing("workers", pool, Tasks()) == []


def test_a_pool_that_is_a_dictionary_has_one_replica_as_in_its_class() -> None:
    pool = {"machine_spec": MACHINE}
    given = [pool, {**pool, "replicaCount": 2}, {**pool, "replica_count": 0}, {}]
    assert with_names_and_counts(given) == [{**pool, "replica_count": 1}, *given[1:]]
    typed = [vt.WorkerPoolSpecArgs(machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"))]
    assert with_names_and_counts(typed) == typed
