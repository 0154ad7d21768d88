"""google-cloud-aiplatform's CustomJob, in a program that was written for Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, messages
from support.tables import every_row

pytestmark = pytest.mark.slow

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"

PROGRAM = """
import sys, time
from google.cloud import aiplatform


aiplatform.init(staging_bucket="gs://train")

def pools(*command, replicas=1):
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": "IMAGE", "command": list(command)},
    }
    return [pool] + ([{**pool, "replica_count": replicas - 1}] if replicas > 1 else [])

def until(job, *states):
    while job.state.name not in states:
        time.sleep(0.1)
    return job.state.name

def error_of(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]

# The chief's end would stop the others.
TOGETHER = (
    "echo $RANK of $WORLD_SIZE; mkdir -p /gcs/train/ran; touch /gcs/train/ran/$RANK; "
    "while [ $(ls /gcs/train/ran | wc -l) -lt $WORLD_SIZE ]; do sleep 0.1; done"
)

# Two run while the third is waited for.
long = aiplatform.CustomJob(display_name="long", worker_pool_specs=pools("sleep", "600"))
long.submit()
failing = aiplatform.CustomJob(display_name="failing", worker_pool_specs=pools("sh", "-c", "exit 3"))
failing.submit()
ran = aiplatform.CustomJob(
    display_name="ran",
    worker_pool_specs=pools("sh", "-c", TOGETHER, replicas=3),
    base_output_dir="gs://train/out",
    labels={"team": "a"},
)
ran.run(timeout=600, restart_job_on_worker_restart=False, create_request_timeout=30)
tell(
    ran=ran.state.name,
    name=ran.resource_name,
    id=ran.name,
    project=ran.project,
    location=ran.location,
    created=ran.create_time.isoformat(),
    started=ran.start_time.isoformat(),
    ended=ran.end_time.isoformat(),
    labels=dict(ran.labels),
    output=ran.job_spec.base_output_directory.output_uri_prefix,
    timeout=ran.job_spec.scheduling.timeout.total_seconds(),
    run_error=ran.error.message,
)

tell(failed=until(failing, "JOB_STATE_FAILED"), failure=failing.error.message)
tell(waiting=error_of(failing._block_until_complete))

def names(**options):
    return [each.display_name for each in aiplatform.CustomJob.list(**options)]

tell(
    listed=names(),
    by_name=names(filter='display_name="ran"'),
    by_wildcard=names(filter='display_name:"fail*"'),
    by_state=names(filter='state="JOB_STATE_SUCCEEDED"'),
    by_label=names(filter="labels.team=a"),
    by_both=names(filter='display_name="ran" AND state="JOB_STATE_FAILED"'),
    by_either=names(filter='display_name="ran" OR display_name="long"'),
    by_not=names(filter='NOT display_name="ran"'),
    by_time=names(filter='create_time>="2100-01-01T00:00:00Z"'),
    ordered=names(order_by="create_time"),
    elsewhere=names(location="europe-west4"),
)

got = aiplatform.CustomJob.get(ran.resource_name)
tell(got=got.display_name, by_id=aiplatform.CustomJob.get(ran.name).display_name)

tell(before=until(long, "JOB_STATE_RUNNING"))
long.cancel()
tell(cancelled=until(long, "JOB_STATE_CANCELLED"), again=error_of(long.cancel))

long.delete()
tell(deleted=error_of(lambda: aiplatform.CustomJob.get(long.resource_name)), left=names())

open("task.py", "w").write("import os, sys; print('hello from a script', sys.argv[1:], os.environ['MODE'])")
local = aiplatform.CustomJob.from_local_script(
    display_name="local",
    script_path="task.py",
    container_uri="IMAGE",
    args=["--epochs", "3"],
    environment_variables={"MODE": "test"},
    machine_type="n1-standard-4",
    replica_count=1,
)
local.run()
tell(local=local.state.name, local_name=local.resource_name,
     packages=list(local.job_spec.worker_pool_specs[0].python_package_spec.package_uris))
""".replace("IMAGE", IMAGE)


@pytest.fixture(scope="module")
def results(script: Any, bucket: str) -> Any:
    return script(PROGRAM)


@every_row(
    ("what", "expected"),
    [
        pytest.param("ran", "JOB_STATE_SUCCEEDED", id="run waits until the job has succeeded"),
        pytest.param("project", "local", id="the project is that of the environment"),
        pytest.param("location", "us-central1", id="the location is the library's default"),
        pytest.param("labels", {"team": "a"}, id="labels"),
        pytest.param("output", "gs://train/out", id="the output directory is echoed as it was sent"),
        pytest.param("timeout", 600.0, id="the timeout"),
        pytest.param("run_error", "", id="a job that succeeded has no error"),
        pytest.param("failed", "JOB_STATE_FAILED", id="a job fails"),
        pytest.param("listed", ["ran", "failing", "long"], id="list, the newest first"),
        pytest.param("by_name", ["ran"], id="list by display name"),
        pytest.param("by_wildcard", ["failing"], id="list by a part of the display name"),
        pytest.param("by_state", ["ran"], id="list by state"),
        pytest.param("by_label", ["ran"], id="list by label"),
        pytest.param("by_both", [], id="list with AND"),
        pytest.param("by_either", ["ran", "long"], id="list with OR"),
        pytest.param("by_not", ["failing", "long"], id="list with NOT"),
        pytest.param("by_time", [], id="list by creation time"),
        pytest.param("ordered", ["long", "failing", "ran"], id="list in the library's order"),
        pytest.param("elsewhere", [], id="list of another location"),
        pytest.param("got", "ran", id="get by name"),
        pytest.param("by_id", "ran", id="get by id"),
        pytest.param("before", "JOB_STATE_RUNNING", id="submit does not wait"),
        pytest.param("cancelled", "JOB_STATE_CANCELLED", id="cancel"),
        pytest.param("left", ["ran", "failing"], id="a deleted job is not listed"),
        pytest.param("local", "JOB_STATE_SUCCEEDED", id="from_local_script"),
    ],
)
def test_what_the_program_sees(results: Mapping[str, Any], what: str, expected: Any) -> None:
    assert results[what] == expected


def test_times_are_in_order(results: Mapping[str, Any]) -> None:
    assert results["created"] <= results["started"] <= results["ended"]


@pytest.mark.parity(
    "Custom jobs: clients", same="they work unchanged, through `vertex-training emulator env`"
)
@pytest.mark.smoke
def test_the_name_has_the_projects_number(results: Mapping[str, Any]) -> None:
    assert results["name"].split("/")[1].isdigit()


@pytest.mark.parity("Custom jobs: clients")
def test_the_failure_has_the_services_words(results: Mapping[str, Any]) -> None:
    assert "The replica workerpool0-0 exited with a non-zero status of 3." in results["failure"]


def test_waiting_for_a_job_that_fails_raises_what_it_does_on_the_service(results: Mapping[str, Any]) -> None:
    kind, message = results["waiting"]
    assert (kind, message.startswith("Job failed with:")) == ("RuntimeError", True)


def test_cancelling_what_has_ended_fails_as_on_the_service(results: Mapping[str, Any]) -> None:
    kind, message = results["again"]
    assert kind == "FailedPrecondition"  # as over gRPC; the library itself raises BadRequest over REST
    assert "is in state JOB_STATE_CANCELLED and cannot be canceled." in message


def test_what_was_deleted_is_not_found(results: Mapping[str, Any]) -> None:
    assert results["deleted"][0] == "NotFound"


def test_every_replica_has_run(results: Mapping[str, Any], emulator: JobEmulator) -> None:
    said = [each for each in messages(emulator.entries(results["name"])) if " of 3" in each]
    assert sorted(said) == ["0 of 3", "1 of 3", "2 of 3"]


def test_the_script_was_packed_and_uploaded(results: Mapping[str, Any], emulator: JobEmulator) -> None:
    (package,) = results["packages"]
    assert package.startswith("gs://train/aiplatform-")
    assert Path(emulator.data_dir, "buckets", package.removeprefix("gs://")).is_file()


def test_the_script_got_its_arguments_and_variables(
    results: Mapping[str, Any], emulator: JobEmulator
) -> None:
    assert "hello from a script ['--epochs', '3'] test" in messages(emulator.entries(results["local_name"]))
