"""The folder of checkpoints that a run gets: its name, and the variable in a spec."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vertex_cluster.checkpoints import store
from vertex_training.job import checkpoints
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import (
    EMPTY_POOL,
    ContainerSpec,
    EnvVar,
    MachineSpec,
    PythonPackageSpec,
    WorkerPoolSpec,
)

LINEAGE = "0123456789abcdef-3"
FOLDER = f"gs://bucket/some/job/checkpoints/{LINEAGE}/"
MACHINE = MachineSpec(machine_type="n1-standard-4")


def pool(*env: tuple[str, str]) -> WorkerPoolSpec:
    variables = tuple(EnvVar(name=name, value=value) for name, value in env)
    return WorkerPoolSpec(
        machine_spec=MACHINE, replica_count=1, container_spec=ContainerSpec(image_uri="i", env=variables)
    )


PACKAGE = WorkerPoolSpec(
    machine_spec=MACHINE,
    replica_count=2,
    python_package_spec=PythonPackageSpec(
        executor_image_uri="i", package_uris=("gs://b/p",), python_module="m"
    ),
)


def spec(*pools: WorkerPoolSpec) -> CustomJobSpec:
    return CustomJobSpec(display_name="train", worker_pool_specs=pools)


def test_the_variable_is_the_first_that_training_code_reads() -> None:
    assert store.VARIABLES[0] == checkpoints.VARIABLE


@pytest.mark.parametrize("parent", ["gs://bucket", "gs://bucket/", "gs://bucket/a/checkpoints/b/"])
def test_a_folder_names_its_lineage(parent: str) -> None:
    assert checkpoints.lineage_of(checkpoints.lineage_folder(parent, LINEAGE)) == LINEAGE


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "gs://bucket/all/",
        f"gs://bucket/{LINEAGE}/",
        "gs://bucket/checkpoints/",
        FOLDER[:-1],
        f"/x{FOLDER}",
    ],
)
def test_other_folders_have_none(folder: str) -> None:
    assert checkpoints.lineage_of(folder) is None


def test_the_variable_is_in_all_tasks_before_their_own_and_comes_out_again() -> None:
    declared = spec(pool(("AT", "$(VERTEX_CLUSTER_CHECKPOINT_DIR)x")), PACKAGE, EMPTY_POOL, pool())
    live = checkpoints.with_variable(declared, FOLDER)
    of_pools = [one.task.env if one.task else () for one in live.worker_pool_specs]
    assert [[each.name for each in env] for env in of_pools] == [
        [checkpoints.VARIABLE, "AT"],
        [checkpoints.VARIABLE],
        [],
        [checkpoints.VARIABLE],
    ]
    assert checkpoints.folder_of(live) == FOLDER
    assert checkpoints.without_variable(live) == declared
    assert checkpoints.without_variable(live, declared=declared) == declared


def test_what_a_program_declares_itself_stays() -> None:
    own = f"gs://other/checkpoints/{LINEAGE}/"
    declared = spec(pool((checkpoints.VARIABLE, own)), PACKAGE)
    live = checkpoints.with_variable(declared, FOLDER)
    assert live.worker_pool_specs[0] == declared.worker_pool_specs[0]
    assert checkpoints.without_variable(live, declared=declared) == declared
    assert checkpoints.folder_of(live, declared=declared) == FOLDER
    shared = spec(pool((checkpoints.VARIABLE, "gs://other/all/")))
    assert checkpoints.without_variable(shared) == shared
    assert checkpoints.without_variable(shared, folder="gs://other/all/") == spec(pool())


def test_a_declaration_without_pools_stays() -> None:
    assert checkpoints.with_variable(spec(), FOLDER) == spec()
    assert checkpoints.folder_of(replace(spec(), worker_pool_specs=(EMPTY_POOL,))) is None


@pytest.mark.parametrize(
    ("resume", "bucket", "said"),
    [
        (None, None, ""),
        ("never", None, ""),
        ("after_interruption", "bucket", ""),
        ("gs://bucket/all", None, ""),
        ("after_interruption", None, "Set staging_bucket"),
        ("always", "bucket", "'always' is not possible"),
        ("gs://bucket", "bucket", "gs://BUCKET/FOLDER/"),
        ("gs://BUCKET/all", "bucket", "BUCKET"),
    ],
)
def test_the_words_of_resume(resume: str | None, bucket: str | None, said: str) -> None:
    found = list(checkpoints.resume_problems(spec(pool()), resume, staging_bucket=bucket))
    assert [one.path for one in found] == (["resume"] if said else [])
    assert all(said in one.message for one in found)
