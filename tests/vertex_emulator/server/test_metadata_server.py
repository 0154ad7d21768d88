"""The metadata server and its access rules."""

from __future__ import annotations

from typing import Any

import pytest

from support.emulated.emulator import Answer, call
from vertex_emulator.client.addresses import metadata_host
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.disk.data_folder import metadata_secret, service_token, storage_secret
from vertex_emulator.kernel.projects import project_number

FLAVOR = {"Metadata-Flavor": "Google"}
ACCOUNT = "instance/service-accounts/default"
JOBS = "/v1/projects/local/locations/us-central1/customJobs"


def ask(emulator: Daemon, path: str, **headers: str) -> Answer:
    host = metadata_host(emulator.url, emulator.token, "demo")
    return call(f"http://{host}", "GET", f"/computeMetadata/v1/{path}", headers={**FLAVOR, **headers})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("project/project-id", "demo", id="the project's id"),
        pytest.param("project/numeric-project-id", project_number("demo"), id="the project's number"),
        pytest.param("universe/universe-domain", "googleapis.com", id="the universe"),
        pytest.param("universe/universe_domain", "googleapis.com", id="the universe as older libraries ask"),
        pytest.param(
            f"{ACCOUNT}/email",
            f"{project_number('demo')}-compute@developer.gserviceaccount.com",
            id="the account's address",
        ),
        pytest.param(
            f"{ACCOUNT}/scopes", "https://www.googleapis.com/auth/cloud-platform\n", id="the account's scopes"
        ),
    ],
)
def test_what_it_tells(emulator: Daemon, path: str, expected: str) -> None:
    answer = ask(emulator, path)
    assert (answer.status, answer.body.decode()) == (200, expected)


@pytest.mark.parametrize(
    "path", ["", "instance", "instance/service-accounts", ACCOUNT, "instance/attributes"]
)
def test_a_folder_without_a_slash_leads_to_the_one_with_it(emulator: Daemon, path: str) -> None:
    host = metadata_host(emulator.url, emulator.token, "demo")
    address = f"/computeMetadata/v1/{path}".rstrip("/")
    answer = call(f"http://{host}", "GET", f"{address}?recursive=true&alt=json", headers=FLAVOR)
    assert (answer.status, answer.headers["Metadata-Flavor"]) == (301, "Google")
    assert answer.headers["Location"] == f"http://{host}{address}/?recursive=true&alt=json"


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("", "instance/\nproject/\nuniverse/\n"),
        ("instance/attributes/", ""),
        ("instance/service-accounts/", "default/\n{email}/\n"),
        (f"{ACCOUNT}/", "aliases\nemail\nscopes\ntoken\n"),
        ("project/", "attributes/\nnumeric-project-id\nproject-id\n"),
    ],
)
def test_folders_are_listed(emulator: Daemon, path: str, listed: str) -> None:
    email = ask(emulator, f"{ACCOUNT}/email").body.decode()
    answer = ask(emulator, path)
    assert (answer.status, answer.body.decode()) == (200, listed.format(email=email))
    assert answer.headers["Content-Type"] == "application/text"


def test_a_folder_as_one_document(emulator: Daemon) -> None:
    found = ask(emulator, "?recursive=true").json()
    number = project_number("demo")
    assert found["project"] == {"attributes": {}, "numericProjectId": number, "projectId": "demo"}
    assert found["universe"] == {"universeDomain": "googleapis.com"}
    instance = found["instance"]
    assert instance["attributes"] == {} and instance["id"].isdigit()
    assert instance["hostname"] == f"{instance['name']}.us-central1-a.c.demo.internal"
    assert instance["zone"] == f"projects/{number}/zones/us-central1-a"
    account = instance["serviceAccounts"]["default"]
    assert account == instance["serviceAccounts"][account["email"]]
    assert "token" not in account
    for name in ("id", "name", "hostname"):
        assert ask(emulator, f"instance/{name}").body.decode() == instance[name]
    text = ask(emulator, "project/?recursive=true&alt=text").body.decode()
    assert text == f"numeric-project-id {number}\nproject-id demo\n"
    assert ask(emulator, f"{ACCOUNT}/scopes?alt=json").json() == account["scopes"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("instance/attributes/none", 404),
        ("instance/disks/", 404),
        ("project/project-id/", 404),
        ("instance/id?alt=xml", 400),
    ],
)
def test_what_is_not_there(emulator: Daemon, path: str, status: int) -> None:
    assert ask(emulator, path).status == status


def test_every_answer_has_the_header_that_marks_a_metadata_server(emulator: Daemon) -> None:
    assert ask(emulator, "project/project-id").headers["Metadata-Flavor"] == "Google"


def test_the_account_as_a_whole(emulator: Daemon) -> None:
    found = ask(emulator, f"{ACCOUNT}/?recursive=true").json()
    assert found["email"] == ask(emulator, f"{ACCOUNT}/email").body.decode()


def test_an_account_by_its_address(emulator: Daemon) -> None:
    email = ask(emulator, f"{ACCOUNT}/email").body.decode()
    assert ask(emulator, f"instance/service-accounts/{email}/token").status == 200


def test_a_detecting_library_finds_it(emulator: Daemon) -> None:
    host = metadata_host(emulator.url, emulator.token, "demo")
    answer = call(f"http://{host}", "GET", "", headers=FLAVOR)
    assert (answer.status, answer.headers["Metadata-Flavor"]) == (200, "Google")


def token_of(emulator: Daemon) -> str:
    found: dict[str, Any] = ask(emulator, f"{ACCOUNT}/token").json()
    assert found["token_type"] == "Bearer"
    assert found["expires_in"] > 600
    return str(found["access_token"])


@pytest.mark.parity("The interface: Application Default Credentials")
@pytest.mark.parity("The interface: permissions")
def test_the_token_opens_googles_services(emulator: Daemon) -> None:
    assert call(emulator.url, "GET", JOBS, token=token_of(emulator)).status == 200


def test_the_token_is_not_the_emulators_own(emulator: Daemon) -> None:
    assert token_of(emulator) != emulator.token


@pytest.mark.parity("The interface: Application Default Credentials")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/_local/info"),
        ("POST", "/_local/shutdown"),
        ("GET", "/_local/jobs"),
        ("GET", "/_local/service-account"),
    ],
)
def test_the_token_does_not_open_the_emulators_controls(emulator: Daemon, method: str, path: str) -> None:
    answer = call(emulator.url, method, path, token=token_of(emulator))
    assert answer.status == 403
    assert "/_local" in answer.message


@pytest.mark.parity(
    "The interface: Application Default Credentials",
    own_way="a metadata server with a secret in its address, in replicas and in shells",
)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/computeMetadata/v1/project/project-id", id="no secret"),
        pytest.param("/m/wrong/demo/computeMetadata/v1/project/project-id", id="a wrong secret"),
        pytest.param("/m//demo/computeMetadata/v1/project/project-id", id="an empty secret"),
        pytest.param("/m/{storage}/demo/computeMetadata/v1/project/project-id", id="the secret of storage"),
    ],
)
def test_without_its_secret_it_tells_nothing(emulator: Daemon, path: str) -> None:
    asked = path.format(storage=storage_secret(emulator.token))
    assert call(emulator.url, "GET", asked, headers=FLAVOR).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Metadata-Flavor": "other"}, id="another flavor"),
        pytest.param({"X-Forwarded-For": "10.0.0.1"}, id="forwarded"),
        pytest.param({"Origin": "http://evil.example"}, id="of a web page"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="of a web page that hides its origin"),
        pytest.param({"Host": "evil.example"}, id="under a foreign name"),
    ],
)
def test_requests_that_are_refused(emulator: Daemon, headers: dict[str, str]) -> None:
    assert ask(emulator, f"{ACCOUNT}/token", **headers).status == 403


def test_a_request_needs_the_header(emulator: Daemon) -> None:
    host = metadata_host(emulator.url, emulator.token, "demo")
    answer = call(f"http://{host}", "GET", f"/computeMetadata/v1/{ACCOUNT}/token")
    assert (answer.status, "Metadata-Flavor" in answer.message) == (403, True)


def test_the_secret_opens_nothing_else(emulator: Daemon) -> None:
    answer = call(emulator.url, "GET", f"/m/{metadata_secret(emulator.token)}{JOBS}", headers=FLAVOR)
    assert answer.status == 404


def test_the_log_of_requests_does_not_have_the_secret(emulator: Daemon) -> None:
    ask(emulator, f"{ACCOUNT}/token")
    log = call(emulator.url, "GET", "/_local/requests", token=emulator.token).body.decode()
    assert f"/demo/computeMetadata/v1/{ACCOUNT}/token" in log
    assert metadata_secret(emulator.token) not in log
    assert service_token(emulator.token) not in log


def test_a_project_by_its_number(emulator: Daemon) -> None:
    body = {
        "displayName": "x",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": 1,
                    "containerSpec": {"imageUri": "python:3.11", "command": ["true"]},
                }
            ]
        },
    }
    path = "/v1/projects/my-project/locations/us-central1/customJobs"
    assert call(emulator.url, "POST", path, body=body, token=emulator.token).status == 200
    found = call(
        emulator.url, "GET", f"/v3/projects/{project_number('my-project')}", token=emulator.token
    ).json()
    assert (found["projectId"], found["state"]) == ("my-project", "ACTIVE")


def test_a_project_by_its_id(emulator: Daemon) -> None:
    found = call(emulator.url, "GET", "/v3/projects/any-project", token=emulator.token).json()
    assert found["name"] == f"projects/{project_number('any-project')}"


def test_a_project_in_the_older_version_that_gcloud_uses(emulator: Daemon) -> None:
    found = call(emulator.url, "GET", "/v1/projects/any-project", token=emulator.token)
    assert (found.status, found.json()) == (
        200,
        {
            "projectNumber": project_number("any-project"),
            "projectId": "any-project",
            "lifecycleState": "ACTIVE",
            "name": "any-project",
        },
    )


def test_a_number_of_no_project(emulator: Daemon) -> None:
    answer = call(emulator.url, "GET", "/v3/projects/123456789012", token=emulator.token)
    assert (answer.status, answer.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
