"""The generated clients of both versions, as samples call them, and Application Default Credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.tables import every_row

pytestmark = pytest.mark.slow

PROGRAM = """
import time
from google.api_core import exceptions
from google.cloud import aiplatform_v1  # an operation that is asked for by name has the messages of v1
from google.cloud import VERSION as vertex
from google.protobuf import field_mask_pb2

parent = "projects/local/locations/us-central1"
client = vertex.JobServiceClient(client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"})

def job(name, *command):
    return {
        "display_name": name,
        "job_spec": {
            "worker_pool_specs": [{
                "machine_spec": {"machine_type": "n1-standard-4"},
                "replica_count": 1,
                "container_spec": {"image_uri": "python:3.11", "command": list(command), "args": []},
            }],
        },
    }

one = client.create_custom_job(parent=parent, custom_job=job("one", "true"))
request = vertex.CreateCustomJobRequest(parent=parent, custom_job=job("two", "sleep", "99"))
two = client.create_custom_job(request=request)
disk = one.job_spec.worker_pool_specs[0].disk_spec
tell(type=type(one).__module__, created=one.state.name, disk=disk.boot_disk_size_gb)

def until(name, state):
    while client.get_custom_job(name=name).state.name != state:
        time.sleep(0.1)
    return client.get_custom_job(name=name).state.name

tell(ended=until(one.name, "JOB_STATE_SUCCEEDED"))
tell(listed=[each.display_name for each in client.list_custom_jobs(parent=parent)])
tell(filtered=[each.display_name for each in client.list_custom_jobs(
    request={"parent": parent, "filter": 'state="JOB_STATE_SUCCEEDED" AND display_name:"o*"'})])
tell(pages=[[each.display_name for each in page.custom_jobs]
            for page in client.list_custom_jobs(request={"parent": parent, "page_size": 1}).pages])
masked = next(iter(client.list_custom_jobs(
    request={"parent": parent, "read_mask": field_mask_pb2.FieldMask(paths=["name", "display_name"])})))
tell(masked=[bool(masked.name), masked.display_name, masked.state.name])
client.cancel_custom_job(name=two.name)
tell(cancelled=until(two.name, "JOB_STATE_CANCELLED"))
operation = client.delete_custom_job(name=two.name)
operation.result(timeout=30)
tell(done=operation.done(), operation=operation.operation.name.rpartition("/operations/")[0])
tell(again=client.get_operation({"name": operation.operation.name}).done)
try:
    client.get_custom_job(name=two.name)
except exceptions.NotFound as error:
    tell(missing=error.message)
try:
    client.create_custom_job(parent=parent, custom_job={"display_name": "", "job_spec": {}})
except exceptions.BadRequest as error:
    tell(refused=[each["field"] for detail in error.details for each in detail["fieldViolations"]])
try:
    client.create_custom_job(parent=parent, custom_job={**job("x", "true"), "labels": {"UPPER": "a"}})
except exceptions.BadRequest as error:
    tell(label="List of found errors:" in error.message)
"""


@pytest.fixture(scope="module", params=["aiplatform_v1", "aiplatform_v1beta1"])
def results(script: Any, emulator: Any, request: pytest.FixtureRequest) -> Any:
    for each in (
        emulator.call("GET", "/v1/projects/local/locations/us-central1/customJobs")
        .json()
        .get("customJobs", [])
    ):
        assert emulator.delete(each["name"]).status == 200
    return {**script(PROGRAM.replace("VERSION", request.param)), "version": request.param}


@every_row(
    ("what", "expected"),
    [
        pytest.param("created", "JOB_STATE_PENDING", id="create"),
        pytest.param("disk", 100, id="the answer has the server's defaults"),
        pytest.param("ended", "JOB_STATE_SUCCEEDED", id="get"),
        pytest.param("listed", ["two", "one"], id="list"),
        pytest.param("filtered", ["one"], id="list with a filter"),
        pytest.param("pages", [["two"], ["one"]], id="list by pages"),
        pytest.param("masked", [True, "two", "JOB_STATE_UNSPECIFIED"], id="list with a read mask"),
        pytest.param("cancelled", "JOB_STATE_CANCELLED", id="cancel"),
        pytest.param("done", True, id="delete, an operation"),
        pytest.param("again", True, id="get the operation"),
        pytest.param("label", True, id="the service's words of what is wrong"),
    ],
)
def test_what_the_program_sees(results: Mapping[str, Any], what: str, expected: Any) -> None:
    assert results[what] == expected


@pytest.mark.parity("The interface: v1 and v1beta1")
@pytest.mark.parity("Custom jobs: clients")
def test_messages_are_those_of_the_version(results: Mapping[str, Any]) -> None:
    assert results["type"].startswith(f"google.cloud.{results['version']}.types")


@pytest.mark.smoke
def test_a_deleted_job_is_not_found(results: Mapping[str, Any]) -> None:
    assert "does not exist" in results["missing"]


@pytest.mark.parity("Custom jobs: clients")
def test_a_faulty_job_is_refused_by_its_fields(results: Mapping[str, Any]) -> None:
    assert results["refused"] == ["display_name", "job_spec.worker_pool_specs"]


CREDENTIALS = """
import google.auth
from google.auth.transport.requests import AuthorizedSession, Request
credentials, project = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
credentials.refresh(Request())
session = AuthorizedSession(credentials)
url = os.environ["VERTEX_EMULATOR_HOST"]
answer = session.get(url + "/v1/projects/local/locations/us-central1/customJobs")
from google.cloud import storage

blob = storage.Client(credentials=credentials, project=project).bucket("train").blob("adc.txt")
blob.upload_from_string("x")
tell(
    kind=type(credentials).__module__,
    project=project,
    email=credentials.service_account_email,
    universe=credentials.universe_domain,
    status=answer.status_code,
    token=credentials.token,
    stored=blob.exists(),
)
"""


@pytest.fixture(scope="module")
def credentials(script: Any, bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return script(CREDENTIALS)


@pytest.mark.parity("The interface: Application Default Credentials")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("kind", "google.auth.compute_engine.credentials", id="those of a machine"),
        pytest.param("project", "local", id="their project"),
        pytest.param("universe", "googleapis.com", id="their universe"),
        pytest.param("status", 200, id="they open Vertex AI"),
        pytest.param("stored", True, id="they open Cloud Storage"),
    ],
)
def test_application_default_credentials(credentials: Mapping[str, Any], what: str, expected: Any) -> None:
    assert credentials[what] == expected


def test_the_credentials_are_not_the_emulators_token(credentials: Mapping[str, Any], emulator: Any) -> None:
    assert credentials["token"] != emulator.daemon.token


def test_credentials_of_the_users_own_are_not_sent(
    script: Any, environment: Mapping[str, str], bucket: str
) -> None:
    folder = Path(environment["HOME"], ".config/gcloud")
    folder.mkdir(parents=True)
    own = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    (folder / "application_default_credentials.json").write_text(json.dumps(own))
    code = "import google.auth\ntell(kind=type(google.auth.default()[0]).__module__)"
    assert script(code) == {"kind": "google.auth.compute_engine.credentials"}
