"""`max_cost` on the real engine: the lines of a preview, refusals, and a stop at the derived timeout."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics
from support.waiting import eventually

pytestmark = pytest.mark.slow

PROGRAM = """
image = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"


def pool(machine="n1-standard-4", command=["sleep", "600"], **accelerators):
    return {
        "machine_spec": {"machine_type": machine, **accelerators},
        "replica_count": 1,
        "container_spec": {"image_uri": image, "command": command},
    }
"""
ALL_KINDS = """
vt.CustomJob("plain", worker_pool_specs=[pool()], max_cost=1)
vt.CustomJob("kept", worker_pool_specs=[pool()], scheduling={"disable_retries": False}, max_cost=1)
flex = {"strategy": "FLEX_START"}
gpu = {"accelerator_type": "NVIDIA_L4", "accelerator_count": 1}
vt.CustomJob("flex", worker_pool_specs=[pool("g2-standard-4", **gpu)], scheduling=flex, max_cost=1)
study = {
    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1, 2, 3]}}],
}
vt.HyperparameterTuningJob(
    "search",
    study_spec=study,
    max_trial_count=4,
    parallel_trial_count=2,
    trial_job_spec={"worker_pool_specs": [pool()]},
    max_cost=1,
)
vt.TrainingPipeline("pipeline", custom_task={"worker_pool_specs": [pool()]}, max_cost=1)
vt.DistributedTraining("distributed", chief=pool(), max_cost=1)
"""
REFUSED = """
vt.CustomJob("little", worker_pool_specs=[pool()], max_cost=0.001)
"""
TRAIN = (
    'vt.CustomJob("train", worker_pool_specs=[pool(command={command})], max_cost={sum}, rerun="on_failure")\n'
)
RUN = "vertex-training:maxRunCost"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs on one stack, in the order of the deployments."""

    shown: Result
    refused: Result
    above: Result
    deployed: Result
    unchanged: Result
    raised: Result
    changed: Result
    timeouts: tuple[str, ...]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM + ALL_KINDS)
    shown = engine.preview()
    engine.write(PROGRAM + REFUSED)
    refused = engine.preview()
    engine.set(RUN, "0.50")
    engine.write(PROGRAM + TRAIN.format(command=["true"], sum=1))
    above = engine.preview()
    engine.set(RUN, "3")
    deployed = engine.up()

    def jobs() -> list[custom_jobs.JobRecord]:
        found = custom_jobs.list_jobs(engine.endpoint())
        return sorted(
            (one for one in found if one.display_name == "train"), key=lambda one: one.create_time or ""
        )

    eventually(lambda: all(one.state.is_terminal for one in jobs()))
    unchanged = engine.preview()
    engine.write(PROGRAM + TRAIN.format(command=["true"], sum=2))
    raised = engine.up()
    engine.write(PROGRAM + TRAIN.format(command=["sleep", "0"], sum=2))
    changed, deployed_again = engine.preview_and_up()
    deployed_again.ok()
    timeouts = tuple(one.wire["jobSpec"]["scheduling"]["timeout"] for one in jobs())
    return Steps(
        shown=shown,
        refused=refused,
        above=above,
        deployed=deployed,
        unchanged=unchanged,
        raised=raised,
        changed=changed,
        timeouts=timeouts,
    )


@pytest.mark.parametrize("name", ["plain", "pipeline", "distributed"])
def test_a_preview_shows_when_a_job_stops(steps: Steps, name: str) -> None:
    line = diagnostics(steps.shown.ok().output, name)
    assert f"{name} would cost on Google Cloud: $0.25 an hour\n" in line
    assert f"{name} stops after 4 h 4 min of running, at most $1.00\n" in line


def test_a_preview_shows_the_worst_case_of_kept_retries(steps: Steps) -> None:
    line = diagnostics(steps.shown.ok().output, "kept")
    assert "at most $1.00. In the worst case $3.99: if the service restarts it 3 times, its clock may" in line


def test_the_price_on_demand_bounds_a_strategy_without_a_price(steps: Steps) -> None:
    line = diagnostics(steps.shown.ok().output, "flex")
    assert "without a known price: g2-standard-4" in line
    assert "flex stops after 1 h 11 min of running, at most $1.00" in line


def test_the_trials_of_a_tuning_job_share_the_sum(steps: Steps) -> None:
    line = diagnostics(steps.shown.ok().output, "search")
    assert "search stops each of its 4 trials after 1 h 1 min of running, at most $1.00\n" in line


def test_what_cannot_be_stopped_is_refused_in_the_preview(steps: Steps) -> None:
    output = steps.refused.failed().output
    assert "max_cost: $0.001 is below the cost of a minute of running, $0.0041; give at least 0.01" in output


def test_a_sum_above_the_limit_of_the_stack_is_refused(steps: Steps) -> None:
    output = steps.above.failed().output
    assert f"until the timeout by max_cost of 4 h 4 min, above {RUN} of $0.50. Set a lower max_cost" in output
    steps.deployed.ok()


def test_another_sum_runs_nothing_and_counts_for_the_next_run(steps: Steps) -> None:
    assert "unchanged" in steps.unchanged.ok().output
    assert "stops after" not in steps.unchanged.output
    assert "1 updated" in steps.raised.ok().output
    line = diagnostics(steps.changed.ok().output, "train")
    assert "train stops after 8 h 9 min of running, at most $2.00, of which its earlier runs have" in line
    assert steps.timeouts == ("14640s", "29340s")
