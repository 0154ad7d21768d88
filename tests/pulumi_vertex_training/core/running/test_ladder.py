"""The ladder of a declared job: its validation, its cost, its rungs' problems and its lines in a preview."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.running.prerequisites import of_rungs
from pulumi_vertex_training.costs.declared import cost_of_inputs
from pulumi_vertex_training.kinds.custom_job.kind import KIND
from pulumi_vertex_training.kinds.custom_job.provider import DECLARED
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.provider import DECLARED as TUNING
from pulumi_vertex_training.kinds.training_pipeline.provider import DECLARED as PIPELINE
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_CLIMB_LIMIT
from vertex_training.cost.prices import built_in
from vertex_training.findings.problems import Problem
from vertex_training.job.ladder import OnLadder, Rung, described, on_rung
from vertex_training.topology.pools import MachineSpec

PLACE = {"endpoint": "emulator", "project": "p", "location": "us-central1", "display_name": "train"}
L4 = {"machine_type": "g2-standard-12", "accelerator_type": "NVIDIA_L4", "accelerator_count": 1}
A100 = {"machine_type": "a2-highgpu-1g", "accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 1}
H100 = {"machine_type": "a3-highgpu-8g", "accelerator_type": "NVIDIA_H100_80GB", "accelerator_count": 8}
B200 = {"machine_type": "a4-highgpu-8g", "accelerator_type": "NVIDIA_B200", "accelerator_count": 8}
CPU = {"machine_type": "n1-standard-4"}


def pool(machine: dict[str, Any], replicas: int = 1) -> dict[str, Any]:
    return {"machine_spec": machine, "replica_count": replicas, "container_spec": {"image_uri": "repo/t:1"}}


def declared(*rungs: dict[str, Any], pools: tuple[dict[str, Any], ...] = (pool(L4),), **more: Any) -> Any:
    return DECLARED.decode_inputs(
        {**PLACE, "worker_pool_specs": list(pools), "capacity": list(rungs), **more}
    )


def inputs(*rungs: dict[str, Any], **more: Any) -> Any:
    found = declared(*rungs, **more)
    assert found.spec is not None, found.problems
    return found.spec


def found_in(*rungs: dict[str, Any], **more: Any) -> list[str]:
    return [str(each) for each in declared(*rungs, **more).problems if each.level == "error"]


def test_the_limit_is_the_one_of_the_rerun_table() -> None:
    assert OnLadder().capacity_limit == DEFAULT_CLIMB_LIMIT


def test_a_rung_changes_the_pools_with_accelerators() -> None:
    job = inputs({"machine_spec": A100}, pools=(pool(L4), pool(CPU, 2)))
    made = on_rung(job, job.capacity[0])
    assert [each.machine_spec.machine_type for each in made.worker_pool_specs] == [
        "a2-highgpu-1g",
        "n1-standard-4",
    ]


def test_a_rung_changes_all_pools_of_a_job_without_accelerators() -> None:
    job = inputs({"machine_spec": {"machine_type": "n2-standard-8"}}, pools=(pool(CPU), pool(CPU, 2)))
    made = on_rung(job, job.capacity[0])
    assert {each.machine_spec.machine_type for each in made.worker_pool_specs} == {"n2-standard-8"}


def test_the_default_disk_follows_the_machine_of_the_rung() -> None:
    job = inputs({"machine_spec": B200, "strategy": "SPOT"}, pools=(pool(H100),))
    made = on_rung(job, job.capacity[0])
    assert made.worker_pool_specs[0].disk_spec.boot_disk_type == "hyperdisk-balanced"


def test_flex_start_waits_at_the_service() -> None:
    job = inputs({"strategy": "FLEX_START", "wait_for": 600})
    assert on_rung(job, job.capacity[0]).scheduling.max_wait_duration == "600s"
    assert "waits for 10 min" in described(job, job.capacity[0])


def test_the_ladder_is_not_part_of_the_hash() -> None:
    hashes = {
        DECLARED.declared_hash(DECLARED.spec_of(inputs(*rungs)), None)
        for rungs in ((), ({"strategy": "SPOT"},))
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("rungs", "words"),
    [
        (
            ({"strategy": "SPOT"}, {"strategy": "SPOT", "wait_for": "60s"}),
            "capacity[1]: is the same as capacity[0]",
        ),
        (({}, {"strategy": "STANDARD"}), "capacity[1]: is the same as capacity[0]"),
        (
            ({"machine_spec": H100}, {"strategy": "FLEX_START", "machine_spec": CPU}),
            "capacity[1].machine_spec",
        ),
        (({"strategy": "SPOTT"},), "capacity[0].strategy: 'SPOTT'"),
        (({"machine": L4},), "capacity[0].machine"),
        (({"wait_for": "0s"},), "capacity[0].wait_for"),
    ],
)
def test_bad_rungs_are_refused_with_their_path(rungs: tuple[dict[str, Any], ...], words: str) -> None:
    assert any(words in each for each in found_in(*rungs)), found_in(*rungs)


def test_a_rung_that_the_region_does_not_offer_is_refused() -> None:
    (problem,) = found_in({"strategy": "SPOT"}, {"machine_spec": A100}, location="europe-west6")[-1:]
    assert "capacity[1].machine_spec.accelerator_type: NVIDIA_TESLA_A100 is not offered" in problem


@pytest.mark.parametrize(("kind", "words"), [(TUNING, "infeasible"), (PIPELINE, "CustomJob")])
def test_other_kinds_refuse_a_ladder_with_the_reason(kind: Any, words: str) -> None:
    found = kind.decode_inputs({**PLACE, "capacity": [{"strategy": "SPOT"}]})
    assert found.spec is None
    (problem,) = [each for each in found.problems if each.path == "capacity"]
    assert words in problem.message


def test_the_cost_is_the_most_expensive_rung() -> None:
    def hourly(*rungs: dict[str, Any]) -> float:
        values = {**PLACE, "worker_pool_specs": [pool(L4)], "capacity": list(rungs)}
        cost = cost_of_inputs(KIND, values, table=built_in())
        assert cost is not None
        return cost.known_hourly

    assert hourly({}) == hourly({"strategy": "SPOT"}, {}) < hourly({}, {"machine_spec": A100})


def test_a_problem_of_one_rung_is_a_warning_while_another_rung_has_none() -> None:
    quota, image = Problem(path="", message="quota of L4: 0"), Problem(path="image", message="missing")
    assert [(one.path, one.level) for one in of_rungs([(image, quota), (image,)])] == [
        ("image", "error"),
        ("capacity[0]", "error"),
    ]
    assert [(one.path, one.level) for one in of_rungs([(quota,), ()])] == [("capacity[0]", "warning")]


def test_words_of_a_rung() -> None:
    job = inputs({"strategy": "SPOT"})
    assert described(job, job.capacity[0]) == "SPOT, g2-standard-12 with 1 x NVIDIA_L4"
    reserved = Rung(machine_spec=MachineSpec(machine_type="n1-standard-4"))
    assert described(job, reserved) == "STANDARD, n1-standard-4"
