"""`CustomJob(adopt=...)` on the real engine: an existing job becomes the resource's, or is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.engine import Engine
from support.waiting import eventually
from vertex_emulator import launcher

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
LONG = "import time; time.sleep(300)"
PROGRAM = """
job = vt.CustomJob(
    "train",
    display_name="digits",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="{machine}"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="{image}", command=["python3", "-c"], args=[{script!r}]
            ),
        )
    ],
    {options}
)
pulumi.export("job", job.id)
pulumi.export("state", job.completion["state"])
"""


@pytest.fixture
def cloud(engine: Engine) -> Engine:
    """The project with its emulator running: what is adopted was there before."""
    launcher.ensure(engine.data_dir)
    return engine


def write(engine: Engine, options: str, *, script: str = LONG, machine: str = "n1-standard-4") -> None:
    engine.write(PROGRAM.format(image=IMAGE, script=script, machine=machine, options=options))


def submit(
    engine: Engine, *, script: str = LONG, directory: str | None = None, **outer: object
) -> custom_jobs.JobRecord:
    container = {"imageUri": IMAGE, "command": ["python3", "-c"], "args": [script]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": container,
    }
    spec: dict[str, object] = {"workerPoolSpecs": [pool]}
    if directory:
        spec["baseOutputDirectory"] = {"outputUriPrefix": directory}
    job = {"displayName": "digits", "jobSpec": spec, **outer}
    return custom_jobs.create(engine.endpoint(), job)


def names(engine: Engine) -> list[str]:
    return [job.name for job in custom_jobs.list_jobs(engine.endpoint())]


def until_ended(engine: Engine, name: str) -> None:
    eventually(lambda: custom_jobs.get(engine.endpoint(), name).state.is_terminal)


def test_a_job_is_adopted_replaced_when_it_changes_and_destroyed(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.job_id}"')
    cloud.preview().ok()
    adopted = cloud.up().ok().output
    assert f"train: adopted custom job {job.job_id}: it is " in adopted
    assert names(cloud) == [job.name]
    assert cloud.outputs()["job"] == job.name
    cloud.up("--expect-no-changes").ok()
    write(cloud, "")
    cloud.up("--expect-no-changes").ok()

    write(cloud, f'adopt="{job.job_id}"', machine="n1-standard-8")
    cloud.preview().ok()
    cloud.up().ok()
    (other,) = names(cloud)
    assert other != job.name
    cloud.up("--expect-no-changes").ok()
    cloud.destroy().ok()
    assert names(cloud) == []


def test_a_preview_lists_every_difference_and_nothing_happens(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.name}", enable_web_access=False', script="print(1)", machine="n1-standard-8")
    for command in (cloud.preview, cloud.up):
        refused = command().failed().output
        assert "worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-4' -> 'n1-standard-8'" in refused
        assert "worker_pool_specs[0].container_spec.args" in refused
        assert f"vertex-training import {job.job_id}" in refused
    assert names(cloud) == [job.name]

    write(cloud, 'adopt="42"')
    assert "there is no custom job 42 to adopt" in cloud.preview().failed().output
    write(cloud, 'adopt="the one of yesterday"')
    assert "Give a job's id or its full name" in cloud.preview().failed().output


def test_the_printed_declaration_adopts_the_job_that_it_was_printed_of(cloud: Engine) -> None:
    job = submit(cloud, labels={"team": "vision"})
    printed = subprocess.run(
        [sys.executable, "-m", "pulumi_vertex_training.cli", "import", job.job_id],
        env={**os.environ, **cloud.environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    cloud.write(printed)
    cloud.up().ok()
    assert names(cloud) == [job.name]
    cloud.up("--expect-no-changes").ok()


def test_a_job_that_failed_for_somebody_else_fails_no_deployment(cloud: Engine) -> None:
    job = submit(cloud, script="raise SystemExit(3)")
    until_ended(cloud, job.name)
    write(cloud, f'adopt="{job.job_id}", wait="done"', script="raise SystemExit(3)")
    adopted = cloud.up().ok().output
    assert "it failed" in adopted
    assert "Adopting runs nothing" in adopted
    assert cloud.outputs()["state"] == "FAILED"
    assert names(cloud) == [job.name]


def test_a_job_of_another_declaration_is_adopted_only_when_its_run_is_taken_over(cloud: Engine) -> None:
    job = submit(cloud, labels={"vertex-training-run": "0123456789abcdef-2", "pulumi-stack": "prod"})
    write(cloud, f'adopt="{job.job_id}"')
    refused = cloud.preview().failed().output
    assert "belongs to run 0123456789abcdef-2 (stack prod)" in refused
    assert cloud.up().failed().output.count("belongs to run") >= 1
    write(cloud, f'adopt="{job.job_id}", taking_over="0123456789abcdef-2"')
    cloud.up().ok()
    assert names(cloud) == [job.name]


def test_an_adopted_job_is_protected_and_runs_again_by_the_policies(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.job_id}", protect_running=True')
    cloud.up().ok()
    write(cloud, f'adopt="{job.job_id}", protect_running=True', machine="n1-standard-8")
    assert "it is running and protect_running is set" in cloud.preview().failed().output
    custom_jobs.cancel(cloud.endpoint(), job.name)
    until_ended(cloud, job.name)
    write(cloud, f'adopt="{job.job_id}", rerun="always"')
    assert "train will run again: it was cancelled, and rerun is always" in cloud.preview().ok().output
    cloud.up().ok()
    (other,) = names(cloud)
    assert other != job.name


def test_what_was_refused_in_an_update_is_adopted_once_it_is_right(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.job_id}"', machine="n1-standard-8")
    cloud.up().failed()
    write(cloud, f'adopt="{job.job_id}"')
    assert f"train will adopt custom job {job.job_id}, which is" in cloud.preview().ok().output
    cloud.up().ok()
    assert names(cloud) == [job.name]


def test_an_adopted_job_that_is_gone_runs_again_after_a_refresh_too(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.job_id}"')
    cloud.up().ok()
    custom_jobs.cancel(cloud.endpoint(), job.name)
    until_ended(cloud, job.name)
    custom_jobs.delete(cloud.endpoint(), job.name)
    cloud.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    cloud.up().ok()
    (other,) = names(cloud)
    assert other != job.name


def test_what_an_adopted_job_writes_is_found_whatever_its_spelling(cloud: Engine) -> None:
    job = submit(cloud, script="print('trained')", directory="gs://elsewhere/out")
    until_ended(cloud, job.name)
    options = f'adopt="{job.job_id}", base_output_directory="gs://elsewhere/out", wait="done"'
    write(cloud, options, script="print('trained')")
    cloud.write(
        (cloud.folder / "infra" / "__main__.py").read_text()
        + "\npulumi.export('model', job.completion['model_directory'])\n"
    )
    cloud.up().ok()
    assert cloud.outputs()["model"] == "gs://elsewhere/out/model/"


def test_words_of_a_command_line_are_not_shown(cloud: Engine) -> None:
    job = submit(cloud)
    write(cloud, f'adopt="{job.job_id}"', script="--password=hunter2")
    refused = cloud.preview().failed().output
    assert "container_spec.args: 1 words, others at 0 (hidden)" in refused
    assert "hunter2" not in refused
