"""The cost of declarations of each kind, also with values that are not known yet."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.costs.declared import cost_of, cost_of_inputs
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from support.ground.specs.prices import REGION, table
from vertex_training.cost.cost import Cost
from vertex_training.fields.decode import UNKNOWN, decode
from vertex_training.job.job_kind import JobKind

DAY = {"timeout": "86400s"}
STUDY = {
    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 1}}],
}


def pool(count: object = 1, machine: object = "n1-standard-4") -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": machine},
        "replica_count": count,
        "container_spec": {"image_uri": "repo/a:1"},
    }


def cost(entry: registry.Entry = registry.CUSTOM_JOB, **inputs: Any) -> Cost:
    kind = entry.part("kind", "KIND", JobKind)
    found = cost_of_inputs(kind, {"display_name": "a", "location": REGION, **inputs}, table=table())
    assert found is not None
    return found


def test_a_custom_job_costs_its_replicas():
    found = cost(worker_pool_specs=[pool(), pool(3)], scheduling=DAY)
    assert found.hourly == pytest.approx(4.4)
    assert found.per_timeout == pytest.approx(4.4 * 24)
    assert {item.path.partition(".")[0] for item in found.items} == {
        "worker_pool_specs[0]",
        "worker_pool_specs[1]",
    }


def test_a_tuning_job_costs_its_parallel_trials_and_all_of_them_until_their_timeouts():
    found = cost(
        registry.TUNING_JOB,
        study_spec=STUDY,
        max_trial_count=10,
        parallel_trial_count=2,
        trial_job_spec={"worker_pool_specs": [pool()], "scheduling": DAY},
    )
    assert (found.hourly, found.per_timeout) == (pytest.approx(2.2), pytest.approx(1.1 * 24 * 10))


@pytest.mark.parametrize("task", ["custom_task", "tuning_task"])
def test_a_pipeline_costs_its_task(task: str):
    job = {"worker_pool_specs": [pool()], "scheduling": DAY}
    tuning = {
        "study_spec": STUDY,
        "max_trial_count": 4,
        "parallel_trial_count": 2,
        "trial_job_spec": job,
    }
    found = cost(registry.PIPELINE, **{task: job if task == "custom_task" else tuning})
    assert found.hourly == pytest.approx(1.1 if task == "custom_task" else 2.2)
    assert all(item.path.startswith(f"{task}.") for item in found.items)


def test_a_persistent_resource_costs_its_idle_machines_and_a_job_on_it_nothing():
    pools = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 3}]
    resource = decode(PersistentResource, {"resource_pools": pools}).spec
    machines = cost_of(resource, region=REGION, table=table())
    assert machines is not None
    assert (machines.hourly, machines.per_timeout) == (pytest.approx(3.3), None)
    on_it = cost(worker_pool_specs=[pool(3)], persistent_resource_id="cluster")
    assert (on_it.hourly, on_it.per_timeout) == (0.0, 0.0)


def test_a_part_without_a_price_is_a_gap_and_never_guessed():
    found = cost(worker_pool_specs=[pool(), pool(2, "c2-standard-8")])
    assert found.hourly is found.per_timeout is None
    assert found.known_hourly == pytest.approx(1.1 + 0.2)
    (gap,) = found.unknown
    assert gap.path == "worker_pool_specs[1].machine_spec.machine_type"
    assert "us-central1" in gap.why


def test_a_count_that_is_not_known_yet_leaves_its_pool_out():
    found = cost(worker_pool_specs=[pool(), pool(UNKNOWN)])
    assert found.hourly is None
    assert found.known_hourly == pytest.approx(1.1)
    assert found.known_per_timeout == pytest.approx(1.1 * 7 * 24)
    assert [(gap.path, gap.why) for gap in found.unknown] == [
        ("worker_pool_specs[1].replica_count", "not known before the deployment")
    ]


@pytest.mark.parametrize("name", ["location", "worker_pool_specs"])
def test_without_region_or_pools_nothing_is_known(name: str):
    found = cost(**{"worker_pool_specs": [pool()], name: UNKNOWN})
    assert (found.hourly, found.known_hourly) == (None, 0)
    assert found.unknown


def test_a_timeout_that_is_not_known_yet_leaves_the_hour_known():
    found = cost(worker_pool_specs=[pool()], scheduling={"timeout": UNKNOWN})
    assert (found.hourly, found.per_timeout) == (pytest.approx(1.1), None)
    assert found.known_per_timeout is None
    assert [gap.path for gap in found.unknown] == ["scheduling.timeout"]


def test_values_that_do_not_decide_about_the_cost_may_be_unknown():
    found = cost(worker_pool_specs=[{**pool(), "container_spec": {"image_uri": UNKNOWN}}])
    assert (found.hourly, found.unknown) == (pytest.approx(1.1), ())


def test_a_job_on_a_persistent_resource_that_is_new_costs_nothing_of_its_own():
    assert cost(worker_pool_specs=[pool(UNKNOWN)], persistent_resource_id=UNKNOWN).hourly == 0


def test_a_declaration_that_cannot_be_read_has_no_cost():
    kind = registry.CUSTOM_JOB.part("kind", "KIND", JobKind)
    wrong = {"display_name": "a", "location": REGION, "worker_pool_specs": [pool("many")]}
    assert cost_of_inputs(kind, wrong, table=table()) is None


def test_automatic_reduction_servers_are_counted():
    gpus = {"machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    wide = {**pool(), "machine_spec": gpus}
    image = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    servers = {"replica_count": "auto", "container_spec": {"image_uri": image}}
    found = cost(worker_pool_specs=[wide, {**wide, "replica_count": 3}, servers])
    assert any(item.path.startswith("worker_pool_specs[2]") for item in (*found.items, *found.unknown))
