from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.ground.jobs import EMPTY, REDUCTION_SERVER, any_pools, package_pool, pool
from support.tables import every_row
from vertex_training.findings.problems import known
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import ContainerSpec, DiskSpec, EnvVar, MachineSpec
from vertex_training.topology.rules.pools import validate_pools

P = "worker_pool_specs"


def machine(**fields):
    return replace(pool(), machine_spec=MachineSpec(**{"machine_type": "n1-standard-4", **fields}))


def disk(**fields):
    return replace(pool(), disk_spec=DiskSpec(**fields))


def container(**fields):
    return replace(pool(), container_spec=ContainerSpec(**{"image_uri": "repo/a:1", **fields}))


def env(*names):
    return container(env=tuple(EnvVar(name=name, value="secret") for name in names))


ERRORS = {
    "no pool": ((), P, "no worker pool"),
    "only empty pools": ((EMPTY, EMPTY), f"{P}[0]", "cannot be skipped"),
    "an empty chief": ((EMPTY, pool(2)), f"{P}[0]", "cannot be skipped"),
    "a chief with 3 replicas": ((pool(3),), f"{P}[0].replica_count", "has exactly 1"),
    "five pools": ((pool(),) * 5, P, "at most 4"),
    "fewer than no replicas": ((pool(), pool(-1)), f"{P}[1].replica_count", "-1 replicas"),
    "no task": ((pool(), replace(pool(), container_spec=None)), f"{P}[1]", "no task"),
    "two tasks": ((replace(package_pool(), container_spec=pool().container_spec),), f"{P}[0]", "two tasks"),
    "no machine": ((replace(pool(), machine_spec=None),), f"{P}[0].machine_spec", "needs a machine type"),
    "an empty machine type": (
        (machine(machine_type=""),),
        f"{P}[0].machine_spec.machine_type",
        "not a machine type",
    ),
    "a machine type in words": (
        (machine(machine_type="N1 standard 4"),),
        f"{P}[0].machine_spec.machine_type",
        "N1",
    ),
    "an accelerator without a count": (
        (machine(accelerator_type="NVIDIA_TESLA_T4"),),
        f"{P}[0].machine_spec.accelerator_count",
        "both accelerator_type and accelerator_count",
    ),
    "a count without an accelerator": (
        (machine(accelerator_count=2),),
        f"{P}[0].machine_spec.accelerator_type",
        "both accelerator_type and accelerator_count",
    ),
    "a count of an unspecified accelerator": (
        (machine(accelerator_type="ACCELERATOR_TYPE_UNSPECIFIED", accelerator_count=2),),
        f"{P}[0].machine_spec.accelerator_type",
        "both",
    ),
    "fewer than no accelerators": (
        (machine(accelerator_type="NVIDIA_TESLA_T4", accelerator_count=-1),),
        f"{P}[0].machine_spec.accelerator_count",
        "-1 accelerators",
    ),
    "a misspelt accelerator": (
        (machine(accelerator_type="nvidia_tesla_v10", accelerator_count=1),),
        f"{P}[0].machine_spec.accelerator_type",
        "did you mean NVIDIA_TESLA_V100",
    ),
    "an accelerator from nowhere": (
        (machine(accelerator_type="ABACUS", accelerator_count=1),),
        f"{P}[0].machine_spec.accelerator_type",
        "the accelerators are NVIDIA_TESLA_K80",
    ),
    "accelerators on reduction servers": (
        (pool(gpus=1), pool(gpus=1), pool(machine="n1-highcpu-16", image=REDUCTION_SERVER, gpus=1)),
        f"{P}[2].machine_spec.accelerator_type",
        "reduction servers",
    ),
    "a small disk": ((disk(boot_disk_size_gb=99),), f"{P}[0].disk_spec.boot_disk_size_gb", "100 to 64000"),
    "a large disk": ((disk(boot_disk_size_gb=64001),), f"{P}[0].disk_spec.boot_disk_size_gb", "100 to 64000"),
    "an unknown disk": ((disk(boot_disk_type="floppy"),), f"{P}[0].disk_spec.boot_disk_type", "pd-standard"),
    "no image": ((container(image_uri=""),), f"{P}[0].container_spec.image_uri", "not a container image"),
    "an image with a scheme": (
        (container(image_uri="https://gcr.io/a"),),
        f"{P}[0].container_spec.image_uri",
        "not a container image",
    ),
    "too many arguments": ((container(args=("x" * 50_001,) * 2),), f"{P}[0].container_spec.args", "100002"),
    "too many variables": (
        (env(*(f"V{i}" for i in range(101))),),
        f"{P}[0].container_spec.env",
        "101 variables; a task has at most 100",
    ),
    "a variable with a dash": ((env("A", "B-C"),), f"{P}[0].container_spec.env[1].name", "B-C"),
    "a variable twice": ((env("A", "B", "A"),), f"{P}[0].container_spec.env[2].name", "first in env[0]"),
    "no package": (
        (package_pool(package_uris=()),),
        f"{P}[0].python_package_spec.package_uris",
        "give 1 to 100",
    ),
    "too many packages": (
        (package_pool(package_uris=("gs://b/p.whl",) * 101),),
        f"{P}[0].python_package_spec.package_uris",
        "101 packages",
    ),
    "a local package": (
        (package_pool(package_uris=("gs://b/p.whl", "dist/p.whl")),),
        f"{P}[0].python_package_spec.package_uris[1]",
        "gs://BUCKET/NAME",
    ),
    "a file as the module": (
        (package_pool(python_module="trainer/task.py"),),
        f"{P}[0].python_package_spec.python_module",
        "for example trainer.task",
    ),
}

WARNINGS = {
    "two evaluators": ((pool(), EMPTY, EMPTY, pool(2)), f"{P}[3].replica_count", "at most one"),
    "unequal numbers of accelerators": (
        (pool(gpus=1), pool(gpus=2)),
        f"{P}[1].machine_spec.accelerator_count",
        "2 x NVIDIA_TESLA_T4 each, the chief has 1 x NVIDIA_TESLA_T4",
    ),
    "accelerators on the workers only": (
        (pool(), pool(gpus=2)),
        f"{P}[1].machine_spec.accelerator_count",
        "the chief has no accelerators",
    ),
    "an own image as executor": (
        (package_pool(executor_image_uri="repo/own:1"),),
        f"{P}[0].python_package_spec.executor_image_uri",
        "container_spec",
    ),
    "an own CLUSTER_SPEC": ((env("CLUSTER_SPEC"),), f"{P}[0].container_spec.env[0].name", "leave it out"),
    "an own TF_CONFIG beside others": (
        (pool(env={"TF_CONFIG": "{}"}), pool()),
        f"{P}[0].container_spec.env[0].name",
        "leave it out",
    ),
}

FINE = {
    "a chief": (pool(),),
    "all roles": (pool(), pool(3), pool(2), pool()),
    "a gap": (pool(), EMPTY, pool(2)),
    "trailing empties beyond the fourth": (pool(), EMPTY, EMPTY, EMPTY, EMPTY),
    "mixed tasks": (package_pool(), pool(2), pool(), package_pool()),
    "the largest disk": (disk(boot_disk_size_gb=64000),),
    "as many variables as there can be": (env(*(f"V{i}" for i in range(100))),),
    "the longest arguments": (container(args=("x" * 99_999, "y")),),
    "a module that is no identifier": (package_pool(python_module="trainer.train-model"),),
    "equal accelerators": (pool(gpus=2), pool(4, gpus=2)),
    "own TF_CONFIG alone": (pool(env={"TF_CONFIG": "{}"}),),
    "an image by digest": (container(image_uri="us-docker.pkg.dev/p/r/i@sha256:" + "0" * 64),),
}


@every_row("case", ERRORS)
def test_errors(case):
    pools, path, words = ERRORS[case]
    problems = validate_pools(pools)
    assert [(p.path, p.level) for p in problems] == [(path, "error")]
    assert words in problems[0].message


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings(case):
    pools, path, words = WARNINGS[case]
    problems = validate_pools(pools)
    assert [(p.path, p.level) for p in problems] == [(path, "warning")]
    assert words in problems[0].message


@pytest.mark.parametrize("case", FINE)
def test_no_findings(case):
    assert validate_pools(FINE[case]) == []


def test_all_findings_come_at_once():
    pools = (
        replace(pool(3), machine_spec=None),
        disk(boot_disk_size_gb=1),
        replace(pool(), container_spec=None),
    )
    assert [problem.path for problem in validate_pools(pools)] == [
        f"{P}[0].replica_count",
        f"{P}[0].machine_spec",
        f"{P}[1].disk_spec.boot_disk_size_gb",
        f"{P}[2]",
    ]


def test_paths_start_with_the_path_of_the_list():
    problems = validate_pools((pool(3),), path="trial_job_spec.worker_pool_specs")
    assert problems[0].path == "trial_job_spec.worker_pool_specs[0].replica_count"


def test_no_value_of_a_variable_is_shown():
    shown = " ".join(str(problem) for problem in validate_pools((env("A", "A", "1"),)))
    assert "A is set twice" in shown
    assert "secret" not in shown


@given(st.lists(any_pools, max_size=6))
def test_validation_never_raises_and_checks_the_normal_form(pools):
    found = validate_pools(pools)
    normal = normal_pools(pools)
    assume(normal)
    assert validate_pools(normal) == found


@pytest.mark.parametrize(
    ("pools", "gap"),
    [
        ((pool(),) * 5, f"{P}[0].container_spec.image_uri"),
        ((EMPTY, pool()), f"{P}[1].container_spec.image_uri"),
        ((pool(gpus=1), pool(gpus=2)), f"{P}[0].container_spec.image_uri"),
        ((replace(pool(), container_spec=None),), f"{P}[0].machine_spec.machine_type"),
    ],
)
def test_an_unknown_image_hides_no_finding_about_something_else(pools, gap):
    problems = tuple(validate_pools(pools))
    assert problems
    assert known(problems, {gap}) == problems


@pytest.mark.parametrize(
    ("pools", "gap"),
    [
        ((pool(gpus=1), pool(gpus=2)), f"{P}[0].machine_spec"),
        ((pool(), EMPTY, EMPTY, pool(2)), f"{P}[3].replica_count"),
        ((replace(pool(), container_spec=None),), f"{P}[0].python_package_spec"),
        ((pool(), replace(pool(), machine_spec=None)), f"{P}[1]"),
        ((pool(),) * 5, P),
        ((env("A", "A"),), f"{P}[0].container_spec.env[0].name"),
    ],
)
def test_a_finding_that_rests_on_an_unknown_value_is_dropped(pools, gap):
    problems = tuple(validate_pools(pools))
    assert problems
    assert known(problems, {gap}) == ()


def test_the_remedy_for_a_chief_of_three_names_the_pool_of_the_other_two():
    [message] = [each.message for each in validate_pools([pool(3)]) if each.rule == "chief-replicas"]
    assert message.endswith("Set it to 1 and put the other 2 in worker_pool_specs[1], the workers")
