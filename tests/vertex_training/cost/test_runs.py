"""The cost of runs that have ended or still go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vertex_training.cost.cost import cost_of_job
from vertex_training.cost.prices import built_in
from vertex_training.cost.runs import cost_of_run, total_spent
from vertex_training.job.job_spec import JobSpec, Scheduling
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

TABLE = built_in()
IOWA = "us-central1"


def pool(machine: str, replicas: int = 1) -> WorkerPoolSpec:
    return WorkerPoolSpec(machine_spec=MachineSpec(machine_type=machine), replica_count=replicas)


CHIEF_AND_WORKERS = JobSpec(worker_pool_specs=(pool("n1-standard-4"), pool("n2-highmem-8", 3)))


@pytest.mark.parametrize("strategy", ["STANDARD", "SPOT"])
def test_an_hour_of_all_replicas_costs_what_the_job_costs_an_hour(strategy: str) -> None:
    spec = replace(CHIEF_AND_WORKERS, scheduling=Scheduling(strategy=strategy))
    spent = cost_of_run(spec, replica_seconds={0: 3600, 1: 3 * 3600}, region=IOWA, table=TABLE)
    assert spent.total == pytest.approx(cost_of_job(spec, region=IOWA, table=TABLE).hourly)
    assert spent.replica_hours == 4


def test_a_run_on_a_tpu_slice_cost_all_of_its_machines() -> None:
    machine = MachineSpec(machine_type="ct5lp-hightpu-4t", tpu_topology="4x8")
    spec = JobSpec(worker_pool_specs=(WorkerPoolSpec(machine_spec=machine, replica_count=1),))
    spent = cost_of_run(spec, replica_seconds={0: 1800}, region=IOWA, table=TABLE)
    assert spent.known == pytest.approx(cost_of_job(spec, region=IOWA, table=TABLE).known_hourly / 2)
    assert spent.known > 38.4 / 2


def test_replicas_that_ended_earlier_cost_less() -> None:
    whole, half = (
        cost_of_run(CHIEF_AND_WORKERS, replica_seconds={1: seconds}, region=IOWA, table=TABLE)
        for seconds in (7200, 3600)
    )
    assert whole.total is not None and half.total is not None
    assert half.total == pytest.approx(whole.total / 2)


def test_a_run_that_had_no_machine_cost_nothing() -> None:
    spent = cost_of_run(CHIEF_AND_WORKERS, replica_seconds={0: 0}, region=IOWA, table=TABLE)
    assert (spent.total, spent.replica_hours, spent.unknown) == (0.0, 0.0, ())


def test_on_a_persistent_resource_a_run_cost_nothing_more() -> None:
    spec = replace(CHIEF_AND_WORKERS, persistent_resource_id="shared")
    spent = cost_of_run(spec, replica_seconds={0: 3600}, region=IOWA, table=TABLE)
    assert (spent.total, spent.replica_hours) == (0.0, 1.0)


def test_a_machine_without_a_price_leaves_the_total_open() -> None:
    spec = JobSpec(worker_pool_specs=(pool("n1-standard-4"), pool("z9-mega-7")))
    spent = cost_of_run(spec, replica_seconds={0: 3600, 1: 3600}, region=IOWA, table=TABLE)
    assert spent.total is None
    assert spent.known > 0
    assert spent.unknown[0].path == "worker_pool_specs[1].machine_spec.machine_type"


def test_a_pool_that_the_job_does_not_have_is_a_gap() -> None:
    spent = cost_of_run(CHIEF_AND_WORKERS, replica_seconds={7: 60}, region=IOWA, table=TABLE)
    assert spent.total is None
    assert spent.unknown[0].path == "worker_pool_specs[7]"


def test_the_total_of_several_runs() -> None:
    run = cost_of_run(CHIEF_AND_WORKERS, replica_seconds={0: 3600}, region=IOWA, table=TABLE)
    open_run = cost_of_run(CHIEF_AND_WORKERS, replica_seconds={7: 60}, region=IOWA, table=TABLE)
    assert run.total is not None
    assert total_spent([run, run]).total == pytest.approx(2 * run.total)
    assert total_spent([run, run]).replica_hours == 2
    assert total_spent([run, open_run]).total is None
    assert total_spent([run, open_run]).known == pytest.approx(run.total)
    assert total_spent([]).total == 0


def test_the_total_of_several_runs_has_each_gap_once() -> None:
    open_run = cost_of_run(CHIEF_AND_WORKERS, replica_seconds={7: 60}, region=IOWA, table=TABLE)
    assert total_spent([open_run, open_run]).unknown == open_run.unknown
