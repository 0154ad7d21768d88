"""The effects of a denial: on every `testIamPermissions`, on the policies of projects, and on calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1, resourcemanager_v3
from google.cloud.aiplatform_v1.services.job_service.transports.grpc import JobServiceGrpcTransport
from google.cloud.resourcemanager_v3.services.projects.transports import ProjectsGrpcTransport
from google.iam.v1 import policy_pb2

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import Answer, ask, call, running, storage_client
from support.emulated.job_emulator import job, pool
from support.emulated.registries import artifacts
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

PLACE = "projects/local/locations/us-central1"
JOBS = f"/v1/{PLACE}/customJobs"
TRAINER = "trainer@local.iam.gserviceaccount.com"
ACT_AS = "iam.serviceAccounts.actAs"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("permissions")) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    assert ask(daemon, "POST", "/_local/reset", {}).status == 200


@pytest.fixture(scope="module")
def channel(daemon: Daemon) -> Iterator[grpc.Channel]:
    with connected(daemon, daemon.token) as found:
        yield found


def deny(emulator: Daemon, permission: str, resource: str | None = None) -> None:
    ask(emulator, "POST", "/_local/denials", {"permission": permission, "resource": resource}).ok()


def granted_on(emulator: Daemon, path: str, *permissions: str) -> list[str]:
    answer = ask(emulator, "POST", f"{path}:testIamPermissions", {"permissions": permissions})
    assert answer.status == 200, answer.body
    return answer.json().get("permissions", [])


def refusal(answer: Answer) -> tuple[str, str]:
    """Return the reason and the permission of a refused call."""
    assert answer.status == 403, answer.body
    (info,) = answer.json()["error"]["details"]
    return info["reason"], info["metadata"]["permission"]


@pytest.mark.parity(
    "The interface: permissions",
    not_done="everybody with the token has all permissions that no setting denies",
)
@pytest.mark.parity(
    "Quotas, permissions and services of a project: permissions of a caller (testIamPermissions)",
    own_way="all that are not denied by a setting, which holds for every caller",
)
def test_a_project(emulator: Daemon, channel: grpc.Channel) -> None:
    client = resourcemanager_v3.ProjectsClient(transport=ProjectsGrpcTransport(channel=channel))
    asked = ["aiplatform.customJobs.create", "aiplatform.models.get", "storage.objects.get"]

    def granted(project: str = "local") -> list[str]:
        request = {"resource": f"projects/{project}", "permissions": asked}
        return list(client.test_iam_permissions(request=request).permissions)

    assert granted() == asked
    deny(emulator, "aiplatform.*", "projects/local")
    assert granted() == ["storage.objects.get"]
    assert granted("other") == asked
    assert granted_on(emulator, "/v1/projects/local", *asked) == ["storage.objects.get"]
    assert granted_on(emulator, "/v3/projects/local", *asked) == ["storage.objects.get"]
    wild = {"permissions": ["storage.*"]}
    answer = ask(emulator, "POST", "/v3/projects/local:testIamPermissions", wild)
    assert (answer.status, "wildcards" in answer.message) == (400, True)


@pytest.mark.parity(
    "Quotas, permissions and services of a project: permissions of a caller (testIamPermissions)"
)
def test_a_service_account(emulator: Daemon) -> None:
    path = f"/v1/projects/-/serviceAccounts/{TRAINER}"
    assert granted_on(emulator, path, ACT_AS) == [ACT_AS]
    deny(emulator, ACT_AS, TRAINER)
    assert granted_on(emulator, path, ACT_AS) == []
    assert granted_on(emulator, path.replace("trainer", "other"), ACT_AS) == [ACT_AS]
    assert granted_on(emulator, path.replace("-/", "local/"), "iam.serviceAccounts.get") == [
        "iam.serviceAccounts.get"
    ]


def test_a_service_account_of_a_project_in_a_domain(emulator: Daemon) -> None:
    email = "trainer@mine.example.com.iam.gserviceaccount.com"
    path = f"/v1/projects/example.com:mine/serviceAccounts/{email}"
    assert granted_on(emulator, path, ACT_AS) == [ACT_AS]
    deny(emulator, "iam.serviceAccounts.get", email)
    assert ask(emulator, "GET", path).status == 403
    other = path.replace("trainer", "other")
    assert ask(emulator, "GET", other).status == 200
    assert ask(emulator, "GET", other.replace(":mine/", ":wrong/")).status == 404


@pytest.mark.parity(
    "Quotas, permissions and services of a project: permissions of a caller (testIamPermissions)"
)
def test_a_bucket(emulator: Daemon) -> None:
    with storage_client(emulator.storage_url) as client:
        digits = client.create_bucket("digits", location="us-central1")
        letters = client.create_bucket("letters", location="us-central1")
        asked = ["storage.objects.create", "storage.objects.get"]
        assert digits.test_iam_permissions(asked) == asked
        deny(emulator, "storage.objects.create", "gs://digits")
        assert digits.test_iam_permissions(asked) == ["storage.objects.get"]
        assert letters.test_iam_permissions(asked) == asked
        letters.blob("a").upload_from_string("x")
        with pytest.raises(exceptions.Forbidden, match=r"storage\.objects\.create"):
            digits.blob("a").upload_from_string("x")
        over_xml = ask(emulator, "PUT", "/digits/a", b"x")
        assert over_xml.status == 403
        assert ask(emulator, "DELETE", "/_local/denials").json() == {"removed": 1}
        digits.blob("a").upload_from_string("x")
        assert digits.blob("a").download_as_text() == "x"


@pytest.mark.parity(
    "Quotas, permissions and services of a project: permissions of a caller (testIamPermissions)"
)
def test_a_repository(emulator: Daemon) -> None:
    client = artifacts.client(emulator)
    client.create_repository(parent=PLACE, repository_id="images", repository={"format_": "DOCKER"}).result(
        timeout=30
    )
    name = f"{PLACE}/repositories/images"
    read, write = (f"artifactregistry.repositories.{verb}Artifacts" for verb in ("download", "upload"))
    assert granted_on(emulator, f"/v1/{name}", read, write) == [read, write]
    artifacts.push(emulator, f"{artifacts.HOST}/local/images/team", "one")
    deny(emulator, write, f"{artifacts.HOST}/local/images")
    assert granted_on(emulator, f"/v1/{name}", read, write) == [read]
    path = f"/v2/{artifacts.HOST}/local/images/team"
    assert ask(emulator, "POST", f"{path}/blobs/uploads/").status == 403
    assert ask(emulator, "GET", f"{path}/manifests/one").status == 200


@pytest.mark.parity(
    "Quotas, permissions and services of a project: calls without a permission",
    same="for the permissions that a setting denies; over gRPC without details",
)
def test_a_call_without_its_permission(emulator: Daemon, channel: grpc.Channel) -> None:
    deny(emulator, "aiplatform.customJobs.create", "projects/local")
    answer = ask(emulator, "POST", JOBS, job(pool("pass")))
    assert refusal(answer) == ("IAM_PERMISSION_DENIED", "aiplatform.customJobs.create")
    assert answer.message == (
        "Permission 'aiplatform.customJobs.create' denied on resource "
        f"'//aiplatform.googleapis.com/{PLACE}' (or it may not exist)."
    )
    assert ask(emulator, "GET", JOBS).status == 200
    assert ask(emulator, "GET", JOBS.replace("local", "other")).status == 200
    client = aiplatform_v1.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))
    with pytest.raises(exceptions.PermissionDenied, match=r"aiplatform\.customJobs\.create"):
        client.create_custom_job(parent=PLACE, custom_job={"display_name": "digits", "job_spec": {}})
    with pytest.raises(exceptions.InvalidArgument):
        elsewhere = PLACE.replace("local", "other")
        client.create_custom_job(parent=elsewhere, custom_job={"display_name": "digits", "job_spec": {}})


def test_a_checked_permission_can_itself_be_denied(emulator: Daemon) -> None:
    deny(emulator, "resourcemanager.projects.getIamPolicy")
    answer = ask(emulator, "POST", "/v3/projects/local:getIamPolicy", {})
    assert refusal(answer) == ("IAM_PERMISSION_DENIED", "resourcemanager.projects.getIamPolicy")
    assert ask(emulator, "POST", "/v1/projects/local:getIamPolicy", {}).status == 403
    assert granted_on(emulator, "/v3/projects/local", "resourcemanager.projects.getIamPolicy") == []


@pytest.mark.parity(
    "Quotas, permissions and services of a project: the policy of a project",
    own_way="stored, with etags; a default one describes what the emulator allows",
)
def test_the_policy_of_a_project(emulator: Daemon, channel: grpc.Channel) -> None:
    client = resourcemanager_v3.ProjectsClient(transport=ProjectsGrpcTransport(channel=channel))
    first = client.get_iam_policy(request={"resource": "projects/local"})
    number = project_number("local")
    roles = {binding.role: list(binding.members) for binding in first.bindings}
    agent = f"serviceAccount:service-{number}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
    assert roles["roles/aiplatform.customCodeServiceAgent"] == [agent]
    deny(emulator, "storage.objects.create")
    left = client.get_iam_policy(request={"resource": "projects/local"})
    gone = set(roles) - {binding.role for binding in left.bindings}
    assert gone == {"roles/aiplatform.customCodeServiceAgent", "roles/storage.objectUser"}
    binding = policy_pb2.Binding(role="roles/viewer", members=[f"serviceAccount:{TRAINER}"])
    policy = policy_pb2.Policy(bindings=[binding], etag=first.etag)
    request = {"resource": "projects/local", "policy": policy}
    with pytest.raises(exceptions.Aborted):
        client.set_iam_policy(request=request)
    policy.etag = left.etag
    saved = client.set_iam_policy(request=request)
    assert saved == client.get_iam_policy(request={"resource": "projects/local"})
    over_rest = ask(emulator, "POST", "/v1/projects/local:getIamPolicy", {}).json()
    assert over_rest["bindings"] == [{"role": "roles/viewer", "members": [f"serviceAccount:{TRAINER}"]}]
    bad = {"policy": {"bindings": [{"role": "viewer", "members": ["someone"]}]}}
    refused = ask(emulator, "POST", "/v1/projects/local:setIamPolicy", bad)
    assert (refused.status, "'viewer' is not a role" in refused.message) == (400, True)
    kept = client.get_iam_policy(request={"resource": "projects/other"})
    assert {each.role for each in kept.bindings} == set(roles) - gone


@pytest.mark.parity("Quotas, permissions and services of a project: service accounts")
def test_accounts_come_and_go(emulator: Daemon) -> None:
    path = f"/v1/projects/local/serviceAccounts/{TRAINER}"
    found = ask(emulator, "GET", path).json()
    assert (found["email"], found["projectId"], "disabled" in found) == (TRAINER, "local", False)
    assert ask(emulator, "POST", f"{path}:disable", {}).status == 200
    assert ask(emulator, "GET", path).json()["disabled"] is True
    assert ask(emulator, "POST", f"{path}:enable", {}).status == 200
    assert "disabled" not in ask(emulator, "GET", path).json()
    assert ask(emulator, "PATCH", path, {"serviceAccount": {"displayName": "a"}}).status == 400
    assert ask(emulator, "DELETE", path).status == 200
    assert ask(emulator, "GET", path.replace("local/", "-/", 1)).status == 404
    body = {"permissions": [ACT_AS]}
    assert ask(emulator, "POST", f"{path}:testIamPermissions", body).status == 404
    made = ask(emulator, "POST", "/v1/projects/local/serviceAccounts", {"accountId": "trainer"})
    assert made.json()["email"] == TRAINER
    assert ask(emulator, "GET", path).status == 200
    wrong = ask(emulator, "POST", "/v1/projects/local/serviceAccounts", {"accountId": "No"})
    assert (wrong.status, "accountId must have" in wrong.message) == (400, True)


@pytest.mark.parity("Quotas, permissions and services of a project: calls without a permission")
def test_a_job_of_an_account_that_the_caller_may_not_use(emulator: Daemon) -> None:
    said = f"You do not have permission to act as service_account: {TRAINER}. (or it may not exist)."
    body = job(pool("pass"), serviceAccount=TRAINER)
    deny(emulator, ACT_AS, TRAINER)
    refused = ask(emulator, "POST", JOBS, body)
    assert (refused.status, refused.message) == (400, said)
    assert ask(emulator, "DELETE", "/_local/denials").json() == {"removed": 1}
    assert ask(emulator, "DELETE", f"/v1/projects/local/serviceAccounts/{TRAINER}").status == 200
    assert ask(emulator, "POST", JOBS, body).message == said
    assert ask(emulator, "POST", "/v1/projects/local/serviceAccounts", {"accountId": "trainer"}).status == 200
    assert ask(emulator, "PUT", "/_local/start-delay", {"seconds": 3600}).status == 200
    assert ask(emulator, "POST", JOBS, body).status == 200


@pytest.mark.parity("Quotas, permissions and services of a project: service accounts")
@pytest.mark.parametrize("email", ["someone@example.com", "nobody", "trainer@other.iam.gserviceaccount.com"])
def test_accounts_that_do_not_exist(emulator: Daemon, email: str) -> None:
    answer = ask(emulator, "GET", f"/v1/projects/local/serviceAccounts/{email}")
    assert (answer.status, answer.message) == (404, f"Unknown service account: {email}")


@pytest.mark.parity(
    "Quotas, permissions and services of a project: Compute Engine", not_done="refused with UNIMPLEMENTED"
)
def test_compute_engine_is_refused_by_name(emulator: Daemon) -> None:
    path = "/compute/v1/projects/local/zones/us-central1-a/reservations/h100"
    answer = ask(emulator, "GET", path)
    assert (answer.status, answer.message) == (400, "The emulator has no reservations.")
    deny(emulator, "compute.reservations.get")
    assert refusal(ask(emulator, "GET", path)) == ("IAM_PERMISSION_DENIED", "compute.reservations.get")


@pytest.mark.parity("Quotas, permissions and services of a project: calls without a permission")
def test_replicas_are_denied_as_well(emulator: Daemon) -> None:
    from vertex_emulator.kernel.disk import data_folder

    deny(emulator, "aiplatform.customJobs.list")
    token = data_folder.service_token(emulator.token)
    assert call(emulator.url, "GET", JOBS, token=token).status == 403


def test_a_denial_survives_with_the_policy_and_the_accounts(tmp_path: Path) -> None:
    path = f"/v1/projects/local/serviceAccounts/{TRAINER}"
    policy = {"bindings": [{"role": "roles/viewer", "members": ["user:a@example.com"]}]}
    with running(tmp_path / "data") as first:
        assert ask(first, "DELETE", path).status == 200
        assert ask(first, "POST", "/v3/projects/local:setIamPolicy", {"policy": policy}).status == 200
    with running(tmp_path / "data") as second:
        assert ask(second, "GET", path).status == 404
        found = ask(second, "POST", "/v3/projects/local:getIamPolicy", {}).json()
        assert found["bindings"] == policy["bindings"]
