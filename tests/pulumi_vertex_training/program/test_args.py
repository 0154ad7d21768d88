"""Worker pools by role and by number, as the program writes them."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt

POOL: dict[str, Any] = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "container_spec": {"image_uri": "repo/trainer:1"},
}


def typed() -> vt.WorkerPoolSpecArgs:
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        container_spec=vt.ContainerSpecArgs(image_uri="repo/trainer:1"),
    )


@pytest.mark.parametrize(("count", "counts"), [(1, [1]), (2, [1, 1]), (8, [1, 7])])
def test_a_chief_and_workers_like_it(count: int, counts: list[int]) -> None:
    pools = vt.chief_worker_pool(POOL, replica_count=count)
    assert pools == [{**POOL, "replica_count": each} for each in counts]


def test_typed_pools_are_copied_not_changed() -> None:
    pool = typed()
    pools = vt.chief_worker_pool(pool, replica_count=3)
    assert [pulumi.get(each, "replica_count") for each in pools] == [1, 2]
    assert pulumi.get(pool, "replica_count") == 1


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "3"])
def test_what_is_no_number_of_replicas_is_refused(count: Any) -> None:
    with pytest.raises(pulumi.RunError, match=r"replica_count is .*; give a whole number of 1 or more"):
        vt.chief_worker_pool(POOL, replica_count=count)


def test_gaps_and_defaults() -> None:
    assert vt.topology(chief=POOL, evaluator=POOL) == [
        {**POOL, "replica_count": 1},
        {},
        {},
        {**POOL, "replica_count": 1},
    ]


def test_reduction_servers_by_a_word() -> None:
    pools = vt.topology(chief=POOL, workers={**POOL, "replica_count": 4}, reduction_servers="auto")
    assert pools[2] == {"replica_count": "auto"}


def test_both_kinds_of_servers_are_refused() -> None:
    with pytest.raises(pulumi.RunError, match="share the third worker pool"):
        vt.topology(chief=POOL, parameter_servers=POOL, reduction_servers="auto")
