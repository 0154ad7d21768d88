"""`CustomJob(adopt=...)` on the real engine: an existing job becomes the resource's, or is refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics
from support.emulated import command
from support.waiting import eventually

# Shown quicker in tests/pulumi_vertex_training: runs/test_adoption.py, core/running/test_run_identity.py,
# kinds/custom_job/test_adopted_jobs.py
pytestmark = pytest.mark.slow

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
LONG = "import time; time.sleep(600)"
FAILS = "raise SystemExit(3)"
QUICK = "print('trained')"
SECRET = "--password=hunter2"
OTHER_MACHINE = "n1-standard-8"
DIRECTORY = "gs://elsewhere/out"
RUN = "0123456789abcdef-2"
PROGRAM = f"""
def declare(name, script={LONG!r}, machine="n1-standard-4", **options):
    container = vt.ContainerSpecArgs(image_uri="{IMAGE}", command=["python3", "-c"], args=[script])
    pool = vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type=machine), container_spec=container
    )
    job = vt.CustomJob(name, worker_pool_specs=[pool], **options)
    end = {{"state": job.completion["state"], "model": job.completion["model_directory"]}}
    pulumi.export(name, {{"job": job.id, **end}})


"""
REFRESH = ("refresh", "--yes", "--skip-preview", "--non-interactive")
URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/customJob:CustomJob::{}"

Declared = dict[str, dict[str, Any]]
"""The arguments of `declare` in the program, by the name of the job."""


def write(engine: Engine, declared: Declared, more: str = "") -> None:
    lines = [f"declare({name!r}, **{options!r})\n" for name, options in declared.items()]
    engine.write(f"{PROGRAM}{''.join(lines)}\n{more}")


def submit(
    engine: Engine, name: str, *, script: str = LONG, directory: str | None = None, **outer: object
) -> JobRecord:
    container = {"imageUri": IMAGE, "command": ["python3", "-c"], "args": [script]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": container,
    }
    spec: dict[str, object] = {"workerPoolSpecs": [pool]}
    if directory:
        spec["baseOutputDirectory"] = {"outputUriPrefix": directory}
    job = {"displayName": name, "jobSpec": spec, **outer}
    return custom_jobs.create(engine.endpoint(), job)


def names(engine: Engine) -> dict[str, str]:
    """Return the name of the newest job of each display name; jobs that were replaced are kept."""
    found = sorted(custom_jobs.list_jobs(engine.endpoint()), key=lambda job: job.create_time or "")
    return {job.display_name: job.name for job in found}


def until_ended(engine: Engine, *jobs: JobRecord) -> None:
    endpoint = engine.endpoint()
    eventually(lambda: all(custom_jobs.get(endpoint, job.name).state.is_terminal for job in jobs))


@dataclass(kw_only=True)
class Steps:
    """The output of each command on one stack, and the service's jobs at the time."""

    submitted: dict[str, JobRecord]
    different: Result
    """A preview: it asks what a deployment asks."""
    foreign: Result
    refused: dict[str, str]
    """The jobs after them."""
    preview: Result
    adopted: Result
    names: dict[str, str]
    outputs: dict[str, dict[str, str]]
    unchanged: list[Result]
    protected: Result
    preview_of_change: Result
    changed: dict[str, str]
    refreshed: dict[str, str]
    destroyed: dict[str, str]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    submitted = {
        "plain": submit(engine, "plain"),
        "different": submit(engine, "different"),
        "printed": submit(engine, "printed", labels={"team": "vision"}),
        "failed": submit(engine, "failed", script=FAILS),
        "foreign": submit(engine, "foreign", labels={"vertex-training-run": RUN, "pulumi-stack": "prod"}),
        "protected": submit(engine, "protected"),
        "gone": submit(engine, "gone"),
        "spelling": submit(engine, "spelling", script=QUICK, directory=DIRECTORY),
    }
    ids = {name: job.job_id for name, job in submitted.items()}
    until_ended(engine, submitted["failed"], submitted["spelling"])

    other = {"adopt": submitted["different"].name, "enable_web_access": False, "script": SECRET}
    write(engine, {"different": {**other, "machine": OTHER_MACHINE}})
    different = engine.preview()
    write(engine, {"foreign": {"adopt": ids["foreign"]}})
    foreign = engine.up()
    refused = names(engine)

    declared: Declared = {name: {"adopt": ids[name]} for name in ids if name != "printed"}
    declared["failed"] |= {"script": FAILS, "wait": "none"}
    declared["foreign"] |= {"taking_over": RUN}
    declared["protected"] |= {"protect_running": True}
    declared["spelling"] |= {"script": QUICK, "wait": "done", "base_output_directory": DIRECTORY}
    printed = command.run("import", ids["printed"], env={**os.environ, **engine.environment})
    assert printed.code == 0, printed.err
    write(engine, declared, printed.out)
    preview, adopted = engine.preview_and_up()
    found, outputs = names(engine), engine.outputs()
    write(engine, {**declared, "plain": {}}, printed.out)
    unchanged = [engine.up("--expect-no-changes")]

    write(engine, {**declared, "protected": {**declared["protected"], "machine": OTHER_MACHINE}}, printed.out)
    protected = engine.preview()
    custom_jobs.cancel(engine.endpoint(), submitted["protected"].name)
    until_ended(engine, submitted["protected"])
    declared["protected"] = {"adopt": ids["protected"], "rerun": "always"}
    declared["plain"] = {"adopt": ids["plain"], "machine": OTHER_MACHINE}
    write(engine, declared, printed.out)
    preview_of_change, change = engine.preview_and_up()
    change.ok()
    changed = names(engine)

    custom_jobs.cancel(engine.endpoint(), submitted["gone"].name)  # no deployment records that it has ended
    until_ended(engine, submitted["gone"])
    custom_jobs.delete(engine.endpoint(), submitted["gone"].name)
    engine.run(*REFRESH, "--target", URN.format("gone")).ok()
    engine.up().ok()
    refreshed = names(engine)
    unchanged.append(engine.up("--expect-no-changes"))
    engine.destroy().ok()
    return Steps(
        submitted=submitted,
        different=different,
        foreign=foreign,
        refused=refused,
        preview=preview,
        adopted=adopted,
        names=found,
        outputs=outputs,
        unchanged=unchanged,
        protected=protected,
        preview_of_change=preview_of_change,
        changed=changed,
        refreshed=refreshed,
        destroyed=names(engine),
    )


def test_adoption_submits_nothing(steps: Steps) -> None:
    expected = {name: job.name for name, job in steps.submitted.items()}
    assert steps.names == expected
    assert {name: found["job"] for name, found in steps.outputs.items()}.items() <= expected.items()


def test_a_job_is_adopted_replaced_when_it_changes_and_destroyed(steps: Steps) -> None:
    steps.preview.ok()
    job = steps.submitted["plain"]
    assert f"plain: adopted custom job {job.job_id}: it is " in steps.adopted.ok().output
    assert steps.outputs["plain"]["job"] == job.name
    for each in steps.unchanged:
        each.ok()
    steps.preview_of_change.ok()
    assert steps.changed["plain"] != job.name
    # The stack keeps the replaced jobs that somebody else had submitted.
    assert set(steps.destroyed.values()) == {steps.submitted[it].name for it in ("plain", "protected")}


def test_every_difference_is_listed_and_nothing_happens(steps: Steps) -> None:
    job = steps.submitted["different"]
    refused = steps.different.failed().output
    assert "worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-4' -> 'n1-standard-8'" in refused
    assert "worker_pool_specs[0].container_spec.args" in refused
    assert f"vertex-training import {job.job_id}" in refused
    assert steps.refused["different"] == job.name


def test_words_of_a_command_line_are_not_shown(steps: Steps) -> None:
    assert "container_spec.args: 1 words, others at 0 (hidden)" in steps.different.output
    assert "hunter2" not in steps.different.output


def test_a_job_that_was_refused_is_adopted_once_the_declaration_is_right(steps: Steps) -> None:
    job = steps.submitted["different"]
    assert f"different will adopt custom job {job.job_id}, which is" in steps.preview.ok().output
    assert steps.names["different"] == job.name


def test_the_printed_declaration_adopts_its_job(steps: Steps) -> None:
    assert steps.names["printed"] == steps.submitted["printed"].name
    assert f"printed: adopted custom job {steps.submitted['printed'].job_id}" in steps.adopted.output
    steps.unchanged[0].ok()


def test_a_job_that_failed_for_somebody_else_is_adopted_as_it_is(steps: Steps) -> None:
    (line,) = (line for line in diagnostics(steps.adopted.output).splitlines() if "failed: adopted" in line)
    assert "it failed" in line
    assert "Adopting runs nothing" in line
    assert steps.outputs["failed"]["state"] == "FAILED"
    assert steps.names["failed"] == steps.submitted["failed"].name


def test_a_job_of_another_declaration_is_adopted_only_with_its_run(steps: Steps) -> None:
    assert f"belongs to run {RUN} (stack prod)" in steps.foreign.failed().output
    assert steps.names["foreign"] == steps.refused["foreign"] == steps.submitted["foreign"].name


def test_an_adopted_job_is_protected_and_runs_again_by_the_policies(steps: Steps) -> None:
    assert "it is running and protect_running is set" in steps.protected.failed().output
    again = "protected will run again: it was cancelled, and rerun is always"
    assert again in steps.preview_of_change.ok().output
    assert steps.changed["protected"] != steps.submitted["protected"].name


def test_an_adopted_job_that_is_gone_runs_again_after_a_refresh_too(steps: Steps) -> None:
    before = steps.submitted["gone"].name
    assert steps.changed["gone"] == before
    assert steps.refreshed["gone"] != before


def test_the_output_of_an_adopted_job_is_found_with_and_without_a_slash_at_the_end(steps: Steps) -> None:
    assert steps.outputs["spelling"]["model"] == "gs://elsewhere/out/model/"
