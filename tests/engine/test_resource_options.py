"""Aliases, ignored changes, replacement on demand, secrets and mistakes: no run that nobody asked for."""

from __future__ import annotations

import pytest

from support.engine import Engine
from vertex_training.cloud import custom_jobs

URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/vertex-training:CustomJob::train"
PROGRAM = """
bucket = vt.StagingBucket("staging", name="options-bucket", force_destroy=True)


def pool(count=1, text="trained", **more):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            command=["python3", "-c", f"print({text!r})"],
            **more,
        ),
    )


def job(name="train", *pools, **opts):
    made = vt.CustomJob(
        name,
        worker_pool_specs=list(pools) or [pool()],
        staging_bucket=bucket,
        wait="done",
        opts=pulumi.ResourceOptions(**opts),
    )
    pulumi.export("model", made.completion["model_directory"])


"""


@pytest.fixture
def deployed(engine: Engine) -> Engine:
    engine.write(PROGRAM + "job()\n")
    engine.up().ok()
    return engine


@pytest.mark.parametrize("alias", ['pulumi.Alias(name="train")', f'pulumi.Output.from_input("{URN}")'])
def test_renaming_with_an_alias_runs_nothing(deployed: Engine, alias: str) -> None:
    deployed.write(PROGRAM + f'job("fit", aliases=[{alias}])\n')
    assert "4 unchanged" in deployed.preview("--expect-no-changes").ok().output
    deployed.up("--expect-no-changes").ok()
    deployed.write(PROGRAM + 'job("fit")\n')
    deployed.up("--expect-no-changes").ok()


@pytest.mark.parametrize("path", ["worker_pool_specs", "*"])
def test_ignored_changes_run_nothing(deployed: Engine, path: str) -> None:
    deployed.write(PROGRAM + f'job("train", pool(text="more"), ignore_changes=["{path}"])\n')
    deployed.up("--expect-no-changes").ok()


def test_a_mistake_without_a_preview_does_not_cost_a_run(deployed: Engine) -> None:
    deployed.write(PROGRAM + 'job("train", pool(3))\n')
    assert "worker_pool_specs[0].replica_count" in deployed.up().failed().output
    deployed.write(PROGRAM + "job()\n")
    deployed.up("--expect-no-changes").ok()


def test_a_refused_change_of_a_protected_job_leaves_no_trace(engine: Engine) -> None:
    engine.write(PROGRAM + "job(protect=True)\n")
    engine.up().ok()
    engine.write(PROGRAM + 'job("train", pool(text="more"), protect=True)\n')
    assert "marked for protection" in engine.up().failed().output
    engine.write(PROGRAM + "job(protect=True)\n")
    engine.up("--expect-no-changes").ok()
    engine.write(PROGRAM + "job()\n")
    engine.up().ok()


def test_replacement_on_demand_keeps_the_model_of_the_run_before(deployed: Engine) -> None:
    before = deployed.outputs()["model"]
    deployed.up("--replace", URN).ok()
    after = deployed.outputs()["model"]
    assert after != before
    (job,) = custom_jobs.list_jobs(deployed.endpoint())
    assert job.wire["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"] + "model/" == after
    deployed.up("--expect-no-changes").ok()
    assert deployed.outputs()["model"] == after


def test_a_secret_is_nowhere_in_clear_nor_is_its_hash(engine: Engine) -> None:
    variable = '{"name": "KEY", "value": pulumi.Output.secret("hunter" + (config.get("more") or ""))}'
    engine.write(PROGRAM + f'job("train", pool(env=[{variable}]))\n')
    output = engine.preview("--diff").ok().output + engine.up().ok().output
    engine.set("more", "2")
    changed = engine.preview("--diff").ok().output
    assert "environment variable KEY changed" in changed
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    for text in (output, changed, engine.run("stack", "export").ok().output):
        assert "hunter" not in text
        assert "v1-" not in text
