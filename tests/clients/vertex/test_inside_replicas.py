"""Training programs that call Google's clients themselves, as they do on the service."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.clients.tools import tool
from support.emulated.job_emulator import JobEmulator, job_id, pool
from vertex_emulator.kernel.projects import project_number

PROGRAM = """
import json, os, sys, time, urllib.error, urllib.request
results = {}
sys.path.append(PACKAGES)
import google.auth
credentials, project = google.auth.default()
results.update(credentials=type(credentials).__module__, project=project)

from google.cloud import storage
bucket = storage.Client().bucket("train")
results["read"] = bucket.blob("data.txt").download_as_text()
bucket.blob("made/by-replica.txt").upload_from_string("from a replica")
results["mounted"] = open("/gcs/train/made/by-replica.txt").read()
results["buckets"] = [each.name for each in storage.Client().list_buckets()]
import gcsfs
results["gcsfs"] = gcsfs.GCSFileSystem().cat("train/data.txt").decode()

from google.cloud import aiplatform
aiplatform.init(staging_bucket="gs://train")
results["sdk_project"] = aiplatform.initializer.global_config.project
results["listed"] = [each.display_name for each in aiplatform.CustomJob.list()]
me = aiplatform.CustomJob.get(os.environ["CLOUD_ML_JOB_ID"])
results["me"] = [me.display_name, me.state.name]
inner = aiplatform.CustomJob(
    display_name="inner",
    worker_pool_specs=[{
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": "python:3.11", "command": ["echo", "from the inner job"]},
    }],
)
inner.submit()
while inner.state.name not in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"):
    time.sleep(0.2)
results["inner"] = [inner.resource_name, inner.state.name]

from google.cloud import aiplatform_v1
results["endpoint"] = aiplatform_v1.JobServiceClient().transport.kind
import asyncio, subprocess, sys
async def names():
    client = aiplatform_v1.JobServiceAsyncClient()
    parent = aiplatform.initializer.global_config.common_location_path()
    return sorted([each.display_name async for each in await client.list_custom_jobs(parent=parent)])
results["asynchronous"] = asyncio.run(names())
try:
    aiplatform_v1.JobServiceClient().create_custom_job(parent=inner.resource_name.rsplit("/", 2)[0])
except Exception as error:
    results["error"] = type(error).__name__
isolated = '''
from google.cloud import storage
print(storage.Client().bucket("train").blob("data.txt").download_as_text(), end="")
'''
results["isolated"] = subprocess.run(
    [sys.executable, "-I", "-c", isolated], stdout=subprocess.PIPE, text=True).stdout
# The libraries of Go and Node drop the path of this variable.
results["inherited"] = [name for name in ("STORAGE_EMULATOR_HOST", "PYTHONPATH") if name in os.environ]
from google.cloud import logging
text = f'resource.labels.job_id="{inner.name}" severity=INFO resource.labels.task_name="workerpool0-0"'
client = logging.Client()
results["logging"] = client._use_grpc
entries = client.list_entries(filter_=text)
results["log"] = [each.payload["message"] for each in entries]

def status(path):
    request = urllib.request.Request(
        os.environ["VERTEX_EMULATOR_HOST"] + path,
        headers={"Authorization": "Bearer " + os.environ["VERTEX_EMULATOR_TOKEN"]})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code
results["controls"] = status("/_local/info")
results["secrets"] = sorted(name for name, value in os.environ.items() if THE_SECRET in value)
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def outer(emulator: JobEmulator, bucket: str) -> str:
    """Return the name of the job that calls the clients."""
    Path(emulator.data_dir, "buckets", bucket, "data.txt").write_text("content")
    code = PROGRAM.replace("THE_SECRET", repr(emulator.daemon.token))
    code = code.replace("PACKAGES", repr(sysconfig.get_path("purelib")))  # more than Google's image has
    name = emulator.create(pool(code), name="outer")
    found = emulator.wait(name)
    assert found["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name)
    return name


@pytest.fixture(scope="module")
def results(emulator: JobEmulator, outer: str) -> Any:
    return json.loads(next(line for line in emulator.printed(outer) if line.startswith('{"credentials"')))


@pytest.mark.parity(
    "The interface: programs that call Google's clients",
    own_way="in replicas by the same names, through a proxy; Python programs in shells are redirected",
)
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("credentials", "google.auth.compute_engine.credentials", id="default credentials"),
        pytest.param("project", "local", id="their project is the job's"),
        pytest.param("read", "content", id="a bucket is read"),
        pytest.param("mounted", "from a replica", id="what it writes to a bucket is below /gcs"),
        pytest.param("sdk_project", "local", id="the library turns the project's number into its id"),
        pytest.param("listed", ["outer"], id="jobs are listed"),
        pytest.param("me", ["outer", "JOB_STATE_RUNNING"], id="the job finds itself"),
        pytest.param("endpoint", "grpc", id="a generated client has its default transport"),
        pytest.param("asynchronous", ["inner", "outer"], id="an asynchronous client"),
        pytest.param("error", "InvalidArgument", id="an error has the class of gRPC"),
        pytest.param("buckets", ["train"], id="buckets of the job's project are listed"),
        pytest.param("gcsfs", "content", id="a bucket is read with gcsfs"),
        pytest.param("isolated", "content", id="a program that ignores the variables of Python"),
        pytest.param("inherited", [], id="its child programs in Go and Node use the proxy"),
        pytest.param("logging", True, id="Cloud Logging has its default transport"),
        pytest.param("log", ["from the inner job"], id="another job's log"),
        pytest.param("controls", 403, id="the emulator's controls are closed"),
        pytest.param("secrets", [], id="no variable has the emulator's token"),
    ],
)
def test_what_a_replica_sees(results: Mapping[str, Any], what: str, expected: Any) -> None:
    assert results[what] == expected


@pytest.mark.parity("The interface: programs that call Google's clients")
def test_a_job_that_a_replica_submits_runs(results: Mapping[str, Any], emulator: JobEmulator) -> None:
    name, state = results["inner"]
    assert (state, emulator.get(name)["displayName"]) == ("JOB_STATE_SUCCEEDED", "inner")


def test_an_object_that_a_replica_writes_is_in_the_bucket(outer: str, emulator: JobEmulator) -> None:
    answer = emulator.call("GET", "/storage/v1/b/train/o/made%2Fby-replica.txt?alt=media")
    assert answer.body == b"from a replica"


def test_another_project_is_that_of_its_job(emulator: JobEmulator) -> None:
    answer = emulator.call(
        "POST",
        "/v1/projects/other-project/locations/us-central1/customJobs",
        {
            "displayName": "x",
            "jobSpec": {"workerPoolSpecs": [pool("import google.auth; print(google.auth.default()[1])")]},
        },
    )
    name = answer.json()["name"]
    assert name.split("/")[1] == project_number("other-project")
    emulator.wait(name)
    text = f'resource.labels.job_id="{job_id(name)}" AND severity=INFO'
    found = emulator.call(
        "POST", "/v2/entries:list", {"resourceNames": ["projects/other-project"], "filter": text}
    )
    assert "other-project" in [each["jsonPayload"]["message"] for each in found.json()["entries"]]


def test_the_plan_of_a_job_has_no_secret(emulator: JobEmulator) -> None:
    text = (emulator.folder(emulator.create(pool("pass"))) / "plan.json").read_text()
    assert emulator.daemon.token not in text
    assert "/m/" not in text


@pytest.mark.slow
@pytest.mark.parity("The interface: Application Default Credentials")
def test_gsutil_inside_a_replica_copies(outer: str, emulator: JobEmulator) -> None:
    script = (
        "set -e; gsutil cp gs://train/data.txt /tmp/data.txt; "
        "gsutil cp /tmp/data.txt gs://train/by/gsutil.txt; gsutil ls gs://train/by/; gsutil cat gs://train/by/gsutil.txt"
    )
    tool("gsutil")
    name = emulator.create(pool(command=["bash", "-c", script]))
    found = emulator.wait(name)
    printed = emulator.printed(name)
    assert found["state"] == "JOB_STATE_SUCCEEDED", printed
    assert "gs://train/by/gsutil.txt" in printed and printed[-1] == "content"


@pytest.mark.slow
def test_gcloud_inside_a_replica_has_credentials(outer: str, emulator: JobEmulator) -> None:
    name = emulator.create(
        pool(command=["gcloud", "storage", "cat", "gs://train/data.txt", "--project=local"])
    )
    found = emulator.wait(name)
    assert (found["state"], emulator.printed(name)[-1:]) == ("JOB_STATE_SUCCEEDED", ["content"]), (
        emulator.printed(name)
    )
