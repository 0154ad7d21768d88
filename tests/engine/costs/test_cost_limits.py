"""The cost in previews and plans on the real engine, and the limits of a stack."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics
from support.waiting import eventually

PROGRAM = """
def declare(name, count=1, machine="n1-standard-4", command=["sleep", "600"], timeout="36000s", **more):
    pools = [
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type=machine, **more.get("accelerators", {})),
            replica_count=size,
            container_spec=vt.ContainerSpecArgs(
                image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest", command=command
            ),
        )
        for size in (1, count - 1)
        if size
    ]
    scheduling = vt.SchedulingArgs(timeout=timeout)
    wait = more.get("wait", "running")
    return vt.CustomJob(name, worker_pool_specs=pools, scheduling=scheduling, wait=wait)


quick = declare("quick", count=2, command=["true"], wait="done")
"""
TRAIN = 'declare("train", count={})\n'
MACHINES = """
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
vt.PersistentResource("machines", resource_pools=[vt.ResourcePoolArgs(machine_spec=machine, replica_count=3)])
"""
UNPRICED = """
gpu = {"accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 1}
declare("new", machine="a2-highgpu-1g", accelerators=gpu)
declare("later", machine=quick.id.apply(lambda _: "n1-standard-4"))
declare("shorter", timeout=quick.id.apply(lambda _: "60s"))
"""
HOURLY, RUN = "vertex-training:maxHourlyCost", "vertex-training:maxRunCost"
ALLOW = "vertex-training:allowUnknownPrices"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An execution of `vertex-training plan --json`."""

    code: int
    document: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs on one stack, in the order of the deployments."""

    refused: Result
    unpriced: Result
    allowed: Result
    deployed: Result
    plan: Plan
    saved: bool
    after_end: Result


def plan(engine: Engine, *arguments: str) -> Plan:
    done = engine.plan("--json", *arguments)
    return Plan(code=done.returncode, document=json.loads(done.stdout))


def end(engine: Engine, name: str) -> None:
    """Cancel the job of a resource, and wait until it has ended."""

    def jobs() -> list[Any]:
        return [one for one in custom_jobs.list_jobs(engine.endpoint()) if one.display_name == name]

    for job in jobs():
        custom_jobs.cancel(engine.endpoint(), job.name)
    eventually(lambda: all(one.state.is_terminal for one in jobs()))


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    # Each n1-standard-4 costs more than 0.2 and less than 0.3 dollars an hour.
    engine.set(HOURLY, "1.00")
    engine.set(RUN, "5.50")
    engine.write(PROGRAM + TRAIN.format(3) + MACHINES)
    refused = engine.preview()
    engine.set(RUN, "1000")
    engine.write(PROGRAM + UNPRICED)
    unpriced = engine.preview()
    engine.set(ALLOW, "true")
    engine.set(HOURLY, "1000")
    engine.set(f"{HOURLY}s", "0.01")
    engine.write(PROGRAM + TRAIN.format(2) + MACHINES + UNPRICED)
    allowed = engine.preview()
    engine.set(f"{HOURLY}s", None)
    engine.set(ALLOW, "false")
    engine.write(PROGRAM + TRAIN.format(2))
    deployed = engine.up()
    engine.set(HOURLY, "0.70")
    engine.write(PROGRAM + TRAIN.format(3))
    file = engine.folder / "plan.json"
    planned = plan(engine, "--save-plan", str(file))
    engine.write(PROGRAM + TRAIN.format(2))
    engine.set(HOURLY, "0.10")
    end(engine, "train")
    return Steps(
        refused=refused,
        unpriced=unpriced,
        allowed=allowed,
        deployed=deployed,
        plan=planned,
        saved=file.exists(),
        after_end=engine.preview(),
    )


def test_the_row_of_a_new_job_has_its_cost(steps: Steps) -> None:
    line = diagnostics(steps.allowed.ok().output, "train")
    assert "train would cost on Google Cloud: $0." in line
    assert "until its timeout of 10 h" in line


def test_a_limit_with_a_mistyped_name_is_reported(steps: Steps) -> None:
    assert f"warning: {HOURLY}s has no effect; did you mean {HOURLY}?" in steps.allowed.ok().output


def test_the_row_of_new_machines_has_their_cost(steps: Steps) -> None:
    line = diagnostics(steps.allowed.ok().output, "machines")
    assert "machines would cost on Google Cloud: $0.74 an hour, also while no job runs on it" in line


def test_a_preview_above_the_limits_is_refused_with_all_figures(steps: Steps) -> None:
    output = steps.refused.failed().output
    assert f"an hour while all of them run, above {HOURLY} of $1.00" in output
    figures = [line.split() for line in output.splitlines() if line.split()[:1] in (["train"], ["machines"])]
    assert {name for name, *rest in figures if rest and rest[-1].startswith("$")} >= {"train", "machines"}
    assert f"above {RUN} of $5.50" in output
    assert "train: a run costs $0." in output
    assert "quick: a run costs" not in output


def test_an_unknown_price_is_refused_with_a_limit_unless_allowed(steps: Steps) -> None:
    output = steps.unpriced.failed().output
    fees = "the management fee for a2-highgpu-1g and NVIDIA_TESLA_A100"
    assert f"new: no price is known for {fees}, so the limits cannot be checked" in output
    assert f"pulumi config set {ALLOW} true" in output
    assert "without a known price" in diagnostics(steps.allowed.ok().output, "new")


def test_a_value_that_is_not_known_is_refused_with_a_limit_unless_allowed(steps: Steps) -> None:
    output = steps.unpriced.failed().output
    assert "later: its cost depends on machine_type, so the limits cannot be checked" in output
    assert "shorter: its cost depends on timeout, so the limits cannot be checked" in output
    assert "a preview does not know: machine_type" in diagnostics(steps.allowed.ok().output, "later")


def test_unchanged_jobs_have_no_line(steps: Steps) -> None:
    steps.deployed.ok()
    assert "would cost" not in steps.after_end.ok().output


def test_a_deployment_has_no_line(steps: Steps) -> None:
    assert "would cost" not in steps.deployed.ok().output


def test_a_plan_above_the_limits_is_shown_as_a_whole_and_fails(steps: Steps) -> None:
    assert steps.plan.code == 4
    document = steps.plan.document
    assert (document["failed"], document["errors"]) == (["cost"], [])
    assert [change["name"] for change in document["changes"]] == ["train"]
    cost = document["cost"]
    assert 0.4 < cost["before"]["hourly"] < 0.6
    assert 0.6 < cost["after"]["hourly"] < 0.9
    assert [finding["resource"] for finding in cost["findings"]] == [""]
    assert not steps.saved


def test_a_job_that_ended_before_or_since_the_deployment_costs_nothing(steps: Steps) -> None:
    assert "above" not in steps.after_end.ok().output
