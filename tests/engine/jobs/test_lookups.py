"""A live job is not cancelled by surprise, nor for a job that could not be submitted, on the real engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as jobs
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics, operation

pytestmark = pytest.mark.slow

PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
MISSING_IMAGE = "us-central1-docker.pkg.dev/local/images/trainer:2"
PROGRAM = f"""
given = config.get_object("given") or {{}}
directory = given.get("directory")
machine = {{"machine_type": "n1-standard-4"}}
container = {{
    "image_uri": given.get("image", "{PREBUILT}"), "command": ["sleep", given.get("seconds", "600")]
}}
spec = {{"machine_spec": machine, "replica_count": 1, "container_spec": container}}
if given.get("package"):
    spec |= {{
        "container_spec": None,
        "python_package_spec": {{
            "executor_image_uri": "{PREBUILT}", "python_module": "train", "package_uris": [given["package"]]
        }},
    }}
for name in given.get("names", ["train"]):
    vt.CustomJob(
        name,
        worker_pool_specs=[spec],
        base_output_directory=directory,
        persistent_resource_id=given.get("machines"),
    )
# Declared after the jobs, which name them as strings.
for name, location in given.get("buckets", {{}}).items():
    vt.StagingBucket(name, name=name, location=location, force_destroy=True)
"""
MISTAKES = {
    "image": MISSING_IMAGE,
    "directory": "gs://lookups-none/out",
    "machines": "no-such-machines",
}


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The output of each step, and the live jobs after the ones that deploy."""

    results: dict[str, Result]
    live: dict[str, list[str]]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM)
    results: dict[str, Result] = {}
    live: dict[str, list[str]] = {}

    def step(name: str, given: dict[str, Any], command: str = "preview") -> None:
        engine.set("given", json.dumps(given))
        if command == "preview and up":
            results[f"preview of {name}"], results[name] = engine.preview_and_up()
        else:
            results[name] = engine.up() if command == "up" else engine.preview()
        if command != "preview":
            found = jobs.list_live(engine.endpoint())
            live[name] = [f"{job.display_name} {job.job_id} {job.state.word}" for job in found]

    elsewhere = {"lookups-elsewhere": "us-east1"}
    package = "gs://lookups-elsewhere/package.tar.gz"
    step("new, wrong", {**MISTAKES, "names": ["one", "two"]})
    step("first", {"buckets": elsewhere}, "up")
    step("region and package", {"directory": "gs://lookups-elsewhere/out", "package": package})
    step("change", {"seconds": "601", "buckets": elsewhere})
    step("mistake", {**MISTAKES, "buckets": elsewhere}, "up")
    step("reverted", {"buckets": elsewhere}, "preview and up")
    declared = {"lookups-new": "us-central1", **elsewhere}
    changed = {"directory": "gs://lookups-new/out", "buckets": declared, "names": ["train", "new"]}
    step("changed", changed, "preview and up")
    return Steps(results=results, live=live)


def test_the_preview_of_new_jobs_finds_what_is_missing_on_each_of_them(steps: Steps) -> None:
    output = steps.results["new, wrong"].failed().output
    for name in ("one", "two"):
        found = diagnostics(output, name)
        assert f"worker_pool_specs[0].container_spec.image_uri: the image {MISSING_IMAGE!r}" in found
        assert "base_output_directory: the bucket 'lookups-none' does not exist. Create it" in found
        assert "persistent_resource_id: there is no persistent resource 'no-such-machines' in" in found
    assert "one, two: cannot be submitted as declared" in output


def test_a_bucket_that_the_program_declares_is_not_missing(steps: Steps) -> None:
    steps.results["preview of changed"].ok()
    steps.results["changed"].ok()


def test_an_unchanged_job_is_not_mentioned(steps: Steps) -> None:
    assert "train is RUNNING" not in steps.results["preview of reverted"].ok().output


def test_a_bucket_elsewhere_and_a_missing_package_are_found(steps: Steps) -> None:
    output = steps.results["region and package"].failed().output
    assert (
        "base_output_directory: 'lookups-elsewhere' is in 'us-east1', the job runs in 'us-central1'" in output
    )
    where = "worker_pool_specs[0].python_package_spec.package_uris[0]"
    assert f"{where}: 'gs://lookups-elsewhere/package.tar.gz' does not exist." in output


def test_a_preview_says_on_the_row_of_a_live_job_that_it_will_be_cancelled(steps: Steps) -> None:
    output = steps.results["change"].ok().output
    assert operation(output, "train") == "++"
    line = diagnostics(output, "train")
    assert "train is RUNNING (1 replica, " in line
    assert "): up will cancel it and run it again, without its checkpoints" in line


def test_a_live_job_goes_on_if_the_new_one_could_not_be_submitted(steps: Steps) -> None:
    output = steps.results["mistake"].failed().output
    assert "train is RUNNING and goes on, nothing is cancelled. The new job could not be submitted:" in output
    for path in ("worker_pool_specs[0].container_spec.image_uri", "base_output_directory", "persistent_reso"):
        assert f"  {path}" in output
    assert steps.live["mistake"] == steps.live["first"] != []


def test_reverting_the_mistake_reruns_nothing(steps: Steps) -> None:
    assert "unchanged" in steps.results["reverted"].ok().output
    assert steps.live["reverted"] == steps.live["first"]


def test_a_change_that_can_be_submitted_replaces_the_job(steps: Steps) -> None:
    (train,) = (job for job in steps.live["changed"] if job.startswith("train "))
    assert [train] != steps.live["first"]
