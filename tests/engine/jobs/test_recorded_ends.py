"""The end of a job that a deployment waited for is in the state, on the real Pulumi CLI and an emulator."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pulumi_vertex_training.runs.gateway import gateways
from support.client.engine import Engine, Result
from support.client.specs.tuning_programs import REPORT, one_trial

pytestmark = pytest.mark.slow

SECRET = "hush-hush-hush"
PROGRAM = f"""
def task(code, **variables):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
    return vt.task_from_image(image, command=["python3", "-c", code], environment_variables=variables)


hidden = pulumi.ResourceOptions(additional_secret_outputs=["end_time"])
token = pulumi.Output.secret({SECRET!r})
train = vt.CustomJob("train", **task("pass", TOKEN=token), wait="done", opts=hidden)
vt.CustomJob("fails", **task("raise SystemExit(3)"), wait="WAIT")
vt.TrainingPipeline("pipe", custom_task=task("pass"), wait="done")
{one_trial(f"task({REPORT!r})")}
pulumi.export("state", train.state)
"""
PLANNED = """
vt.CustomJob("planned", **task("pass"), wait="done")
"""
NAMES = ("train", "fails", "pipe", "search")


@dataclass(kw_only=True)
class Steps:
    """The output of each command, the state after the first, and the service's jobs after the second."""

    first: Result
    state: dict[str, dict[str, Any]]
    checkpoint: str
    unchanged: Result
    second: Result
    resubmitted: list[str]
    outputs: dict[str, Any]
    refreshed: Result
    planned: Result
    destroyed: Result


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM.replace("WAIT", "done"))
    first = engine.up()
    state, checkpoint = jobs_in(engine), json.dumps(engine.checkpoint())
    unchanged = engine.preview("--expect-no-changes")
    for gateway in gateways():
        for record in gateway.list_jobs(engine.endpoint()):
            if record.name in {one["id"] for one in state.values()}:
                gateway.delete(engine.endpoint(), record.name)
    second = engine.up()
    resubmitted = [job for gateway in gateways() for job in names_of(engine, gateway)]
    outputs = engine.outputs()
    refreshed = engine.run("refresh", "--preview-only", "--expect-no-changes", "--non-interactive")
    engine.write(PROGRAM.replace("WAIT", "none") + PLANNED)
    # The shared Python is no child of the command, whose arguments have the plan.
    cold = replace(engine, environment={**engine.environment, "PULUMI_PYTHON_CMD": sys.executable})
    plan = str(engine.folder / "plan.json")
    engine.preview("--save-plan", plan).ok()
    return Steps(
        first=first,
        state=state,
        checkpoint=checkpoint,
        unchanged=unchanged,
        second=second,
        resubmitted=resubmitted,
        outputs=outputs,
        refreshed=refreshed,
        planned=cold.up("--plan", plan),
        destroyed=engine.destroy(),
    )


def jobs_in(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return the recorded jobs, without their runs, by the name of the resource."""
    found = {one["urn"].rpartition("::")[2]: one for one in engine.state() if "job_id" in one["outputs"]}
    assert sorted(found) == sorted(NAMES)
    return found


def names_of(engine: Engine, gateway: Any) -> list[str]:
    return [record.display_name for record in gateway.list_jobs(engine.endpoint())]


def test_a_deployment_records_how_its_jobs_ended(steps: Steps) -> None:
    assert "fails" in steps.first.failed().output
    ends = {name: steps.state[name]["outputs"]["state"].rpartition("STATE_")[2] for name in NAMES}
    assert ends == {"train": "SUCCEEDED", "fails": "FAILED", "pipe": "SUCCEEDED", "search": "SUCCEEDED"}
    assert "status of 3" in steps.state["fails"]["outputs"]["error"]


def test_secrets_and_the_provider_are_recorded_as_before(steps: Steps) -> None:
    assert SECRET not in steps.checkpoint
    for one in steps.state.values():
        assert one["outputs"]["__provider"] == one["inputs"]["__provider"]
    assert "ciphertext" in steps.state["train"]["outputs"]["end_time"]
    assert isinstance(steps.state["pipe"]["outputs"]["end_time"], str)


def test_the_next_preview_and_a_refresh_show_no_change(steps: Steps) -> None:
    steps.unchanged.ok()
    steps.refreshed.ok()


def test_no_job_runs_again_when_its_record_is_deleted(steps: Steps) -> None:
    assert not {*NAMES} & {*steps.resubmitted}
    assert "run again:" not in steps.second.output
    assert steps.outputs == {"state": "SUCCEEDED"}


def test_a_recorded_failure_fails_the_next_deployment_although_the_record_is_deleted(steps: Steps) -> None:
    said = steps.second.failed().output
    assert said.count("error: fails: custom job") >= 1
    assert "no longer exists. It ended before this deployment began." in said
    assert "status of 3" in said


def test_a_deployment_by_an_update_plan_ends_well(steps: Steps) -> None:
    """Record no outputs that are not in the plan: the engine would refuse them."""
    steps.planned.ok()


def test_everything_can_be_destroyed_afterwards(steps: Steps) -> None:
    steps.destroyed.ok()
