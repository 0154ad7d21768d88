"""Google's own client of Secret Manager, unchanged, over gRPC and REST."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from google.api_core import exceptions
from google.api_core.client_options import ClientOptions
from google.cloud import secretmanager_v1
from google.cloud.secretmanager_v1.services.secret_manager_service import transports
from google.iam.v1 import policy_pb2

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import ask, running
from support.emulated.job_emulator import Token
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

Client = secretmanager_v1.SecretManagerServiceClient


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("secrets")) as found:
        yield found


@pytest.fixture(scope="module")
def channel(daemon: Daemon) -> Iterator[grpc.Channel]:
    with connected(daemon, daemon.token) as found:
        yield found


@pytest.fixture(params=["grpc", "rest"])
def secrets(request: pytest.FixtureRequest, daemon: Daemon, channel: grpc.Channel) -> Client:
    if request.param == "grpc":
        return Client(transport=transports.SecretManagerServiceGrpcTransport(channel=channel))
    options = ClientOptions(api_endpoint=daemon.url)
    return Client(credentials=Token(daemon.token), transport="rest", client_options=options)


def created(secrets: Client, name: str) -> str:
    secret = secretmanager_v1.Secret(replication={"automatic": {}}, labels={"team": "a"})
    return str(secrets.create_secret(parent="projects/local", secret_id=name, secret=secret).name)


@pytest.mark.parity(
    "Quotas, permissions and services of a project: Secret Manager",
    own_way="secrets, versions and policies; payloads are not encrypted; no rotation and no expiry",
)
def test_store_and_read_a_secret(secrets: Client, request: pytest.FixtureRequest) -> None:
    name = created(secrets, f"token-{request.node.callspec.id}")
    assert name.startswith(f"projects/{project_number('local')}/secrets/token-")
    with pytest.raises(exceptions.AlreadyExists if "grpc" in name else exceptions.Conflict):
        created(secrets, name.rpartition("/")[2])
    for data in (b"first", b"second"):
        secrets.add_secret_version(parent=name, payload={"data": data})
    latest = secrets.access_secret_version(name=f"{name}/versions/latest")
    assert (latest.name, latest.payload.data) == (f"{name}/versions/2", b"second")
    by_id = name.replace(project_number("local"), "local")
    assert secrets.access_secret_version(name=f"{by_id}/versions/1").payload.data == b"first"
    assert [each.name.rpartition("/")[2] for each in secrets.list_secret_versions(parent=name)] == ["2", "1"]
    secrets.disable_secret_version(name=f"{name}/versions/2")
    with pytest.raises(exceptions.GoogleAPICallError, match="DISABLED"):
        secrets.access_secret_version(name=f"{name}/versions/latest")
    secrets.destroy_secret_version(name=f"{name}/versions/1")
    with pytest.raises(exceptions.GoogleAPICallError, match="destroyed"):
        secrets.enable_secret_version(name=f"{name}/versions/1")
    assert name in [each.name for each in secrets.list_secrets(parent="projects/local")]
    secrets.delete_secret(name=name)
    with pytest.raises(exceptions.NotFound):
        secrets.get_secret(name=name)


@pytest.mark.parity("Quotas, permissions and services of a project: Secret Manager")
def test_grant_and_deny_a_secret(secrets: Client, daemon: Daemon, request: pytest.FixtureRequest) -> None:
    name = created(secrets, f"granted-{request.node.callspec.id}")
    secrets.add_secret_version(parent=name, payload={"data": b"x"})
    policy = policy_pb2.Policy(
        bindings=[{"role": "roles/secretmanager.secretAccessor", "members": ["serviceAccount:a@local.iam"]}]
    )
    secrets.set_iam_policy(request={"resource": name, "policy": policy})
    found = secrets.get_iam_policy(request={"resource": name})
    assert found.bindings[0].role == "roles/secretmanager.secretAccessor"
    denial = {"permission": "secretmanager.versions.access", "resource": name}
    assert ask(daemon, "POST", "/_local/denials", denial).status == 200
    try:
        with pytest.raises(exceptions.Forbidden, match=r"secretmanager\.versions\.access"):
            secrets.access_secret_version(name=f"{name}/versions/latest")
        permissions = ["secretmanager.versions.access", "secretmanager.secrets.get"]
        asked = {"resource": name, "permissions": permissions}
        granted = secrets.test_iam_permissions(request=asked).permissions
        assert list(granted) == ["secretmanager.secrets.get"]
    finally:
        ask(daemon, "DELETE", "/_local/denials")
    with pytest.raises(exceptions.GoogleAPICallError, match="replication is required"):
        secrets.create_secret(parent="projects/local", secret_id="none", secret={})
