"""The services over gRPC, through Google's own clients."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1, aiplatform_v1beta1, artifactregistry_v1
from google.cloud.aiplatform_v1.services.job_service.transports.grpc import JobServiceGrpcTransport
from google.cloud.aiplatform_v1beta1.services.job_service.transports.grpc import (
    JobServiceGrpcTransport as BetaTransport,
)
from google.cloud.artifactregistry_v1.services.artifact_registry.transports import (
    ArtifactRegistryGrpcTransport,
)
from google.longrunning import operations_pb2, operations_pb2_grpc
from google.protobuf import duration_pb2

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import ask
from support.emulated.job_emulator import PARENT
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon, Settings
from vertex_emulator.kernel.database import Database, connect
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.server.grpc_server.calls import Surroundings
from vertex_emulator.server.grpc_server.server import GrpcServer
from vertex_emulator.server.http.auth import Authenticator
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.operations import Operations

PLACE = PARENT.removeprefix("/v1/")
GET = "/google.cloud.aiplatform.v1.JobService/GetCustomJob"


def job(*command: str, name: str = "one") -> dict[str, Any]:
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": "python:3.11", "command": list(command)},
    }
    return {"display_name": name, "job_spec": {"worker_pool_specs": [pool]}}


@pytest.fixture(scope="module")
def jobs(channel: grpc.Channel) -> Any:
    return aiplatform_v1.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))


def test_a_job_from_its_creation_to_its_deletion(jobs: Any) -> None:
    created = jobs.create_custom_job(parent=PLACE, custom_job=job("true"))
    eventually(lambda: jobs.get_custom_job(name=created.name).state.name == "JOB_STATE_SUCCEEDED")
    assert created.name in [each.name for each in jobs.list_custom_jobs(parent=PLACE)]
    deleted = jobs.delete_custom_job(name=created.name)
    deleted.result(timeout=30)
    with pytest.raises(exceptions.NotFound, match="CustomJob does not exist"):
        jobs.get_custom_job(name=created.name)


def test_an_operation_of_the_beta_has_the_types_of_the_beta(channel: grpc.Channel) -> None:
    client = aiplatform_v1beta1.JobServiceClient(transport=BetaTransport(channel=channel))
    created = client.create_custom_job(parent=PLACE, custom_job=job("true"))
    eventually(lambda: client.get_custom_job(name=created.name).state.name == "JOB_STATE_SUCCEEDED")
    deleted = client.delete_custom_job(name=created.name)
    deleted.result(timeout=30)
    assert "v1beta1" in deleted.operation.metadata.type_url
    assert isinstance(deleted.metadata, aiplatform_v1beta1.DeleteOperationMetadata)


def test_a_repository(channel: grpc.Channel) -> None:
    transport = ArtifactRegistryGrpcTransport(channel=channel)
    client = artifactregistry_v1.ArtifactRegistryClient(transport=transport)
    made = client.create_repository(
        parent=PLACE, repository_id="images", repository={"format_": "DOCKER"}
    ).result(timeout=30)
    assert client.get_repository(name=made.name).format_.name == "DOCKER"
    assert [each.name for each in client.list_repositories(parent=PLACE)] == [made.name]


@pytest.mark.parity("The interface: methods and messages")
def test_errors_have_the_same_details_as_over_http(jobs: Any) -> None:
    with pytest.raises(exceptions.InvalidArgument) as refused:
        jobs.create_custom_job(parent=PLACE, custom_job={"display_name": "", "job_spec": {}})
    assert refused.value.message.startswith("List of found errors:\t1.Field: display_name; ")
    (bad,) = refused.value.details
    assert [each.field for each in bad.field_violations] == ["display_name", "job_spec.worker_pool_specs"]


@pytest.mark.parity("The interface: methods and messages")
@pytest.mark.parametrize(
    "method",
    [
        "google.cloud.aiplatform.v1.JobService.CreateNasJob",
        "google.cloud.aiplatform.v1beta1.JobService.ListNasJobs",
        "google.cloud.other.v1.Service.Method",
    ],
)
def test_unknown_methods_are_named(channel: grpc.Channel, method: str) -> None:
    service, _, name = method.rpartition(".")
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(f"/{service}/{name}")(b"", timeout=30)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert refused.value.details() == f"The emulator does not implement {method}."
    with pytest.raises(grpc.RpcError) as refused:
        list(channel.stream_stream(f"/{service}/{name}")(iter([b""]), timeout=30))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(
            b"\xff", "The request is not a google.cloud.aiplatform.v1.GetCustomJobRequest.", id="text"
        ),
        pytest.param(
            b"\xaa\x3e\x01x", "The emulator does not know field 997 of GetCustomJobRequest.", id="unknown"
        ),
    ],
)
def test_requests_that_are_not_the_message(channel: grpc.Channel, data: bytes, message: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(GET)(data, timeout=30)
    assert (refused.value.code(), refused.value.details()) == (grpc.StatusCode.INVALID_ARGUMENT, message)


def test_an_unknown_field_is_named_with_its_path(channel: grpc.Channel) -> None:
    request = aiplatform_v1.CreateCustomJobRequest.pb()(parent=PLACE)
    request.custom_job.job_spec.worker_pool_specs.add().machine_spec.MergeFromString(b"\xaa\x3e\x01x")
    create = channel.unary_unary("/google.cloud.aiplatform.v1.JobService/CreateCustomJob")
    with pytest.raises(grpc.RpcError) as refused:
        create(request.SerializeToString(), timeout=30)
    assert refused.value.details() == (
        "The emulator does not know field 997 of MachineSpec at "
        "'custom_job.job_spec.worker_pool_specs[0].machine_spec'."
    )


def test_a_message_above_the_limit(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(GET)(b"x" * (10 * 1024 * 1024 + 1), timeout=30)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("token", ["", "wrong", "storage"])
def test_calls_need_the_token(daemon: Daemon, token: str) -> None:
    given = data_folder.storage_secret(daemon.token) if token == "storage" else token
    with connected(daemon, given) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(GET)(b"", timeout=30)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_the_token_of_the_metadata_server_suffices(daemon: Daemon) -> None:
    with connected(daemon, data_folder.service_token(daemon.token)) as channel:
        client = aiplatform_v1.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))
        with pytest.raises(exceptions.NotFound):
            client.get_custom_job(name=f"{PLACE}/customJobs/1")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return connect(tmp_path / "database")


@pytest.fixture
def operations(database: Database) -> Operations:
    return Operations(database)


class Waiting(NamedTuple):
    """A server of operations, its log, a client, and a wait for the beginning of a WaitOperation."""

    requests: RequestLog
    client: Any
    has_begun: Callable[[float], bool]


@pytest.fixture
def waiting(operations: Operations, database: Database, tmp_path: Path) -> Iterator[Waiting]:
    requests = RequestLog()
    around = Surroundings(
        authenticator=Authenticator(token="t", storage_secret="s"),
        requests=requests,
        faults=None,
        on_request=lambda: None,
        is_stopping=lambda: False,
        data_dir=tmp_path,
        reserve=database.reserve,
    )
    began = threading.Event()
    bindings = dict(operations.bindings())
    wait = bindings[f"{descriptors.OPERATIONS}.WaitOperation"]

    def begin(request: Any) -> Any:
        began.set()
        return wait(request)

    bindings[f"{descriptors.OPERATIONS}.WaitOperation"] = begin
    server = GrpcServer((descriptors.OPERATIONS,), bindings, around)
    credentials = grpc.composite_channel_credentials(
        grpc.local_channel_credentials(), grpc.access_token_call_credentials("t")
    )
    with grpc.secure_channel(server.address, credentials) as channel:
        yield Waiting(
            requests=requests, client=operations_pb2_grpc.OperationsStub(channel), has_begun=began.wait
        )
    server.stop()


def begun(operations: Operations) -> str:
    operation = descriptors.message("google.longrunning.Operation")
    operation.name = f"{PLACE}/operations/7"
    operations.add(operation)
    return str(operation.name)


def test_waiting_ends_with_the_operation(waiting: Waiting, operations: Operations) -> None:
    name = begun(operations)
    answer = waiting.client.WaitOperation.future(operations_pb2.WaitOperationRequest(name=name))
    assert not answer.done()
    operations.change(name, lambda operation: setattr(operation, "done", True))
    assert answer.result(timeout=60).done


def test_waiting_ends_after_its_timeout(waiting: Waiting, operations: Operations) -> None:
    request = operations_pb2.WaitOperationRequest(
        name=begun(operations), timeout=duration_pb2.Duration(nanos=50_000_000)
    )
    assert not waiting.client.WaitOperation(request, timeout=60).done


def test_waiting_ends_with_the_deadline_of_the_client(waiting: Waiting, operations: Operations) -> None:
    request = operations_pb2.WaitOperationRequest(name=begun(operations))
    sent = []

    def is_received() -> bool:
        """Let the deadline pass. A slow connection may not have sent the request until then."""
        sent.append(request)
        with pytest.raises(grpc.RpcError) as ended:
            waiting.client.WaitOperation(request, timeout=0.2)
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        return waiting.has_begun(0)

    eventually(is_received)
    counts = eventually(waiting.requests.counts)
    assert [*counts] == ["Operations.WaitOperation"]
    assert 1 <= counts["Operations.WaitOperation"] <= len(sent)


def test_waiting_ends_when_the_client_cancels(waiting: Waiting, operations: Operations) -> None:
    request = operations_pb2.WaitOperationRequest(name=begun(operations))
    answer = waiting.client.WaitOperation.future(request)
    assert waiting.has_begun(60)
    answer.cancel()
    eventually(lambda: waiting.requests.counts() == {"Operations.WaitOperation": 1})


def test_faults_apply(daemon: Daemon, jobs: Any) -> None:
    def fault(**fault: Any) -> None:
        ask(daemon, "DELETE", "/_local/faults")
        ask(daemon, "POST", "/_local/faults", fault).ok()

    name = f"{PLACE}/customJobs/1"
    fault(method="JobService.GetCustomJob", status=429, times=1)
    with pytest.raises(exceptions.ResourceExhausted, match="fails as declared"):
        jobs.get_custom_job(name=name, retry=None)
    fault(method="JobService.GetCustomJob", drop="before", times=1)
    with pytest.raises(exceptions.ServiceUnavailable):
        jobs.get_custom_job(name=name, retry=None)
    with pytest.raises(exceptions.NotFound):
        jobs.get_custom_job(name=name, retry=None)


def test_the_log_has_the_calls(daemon: Daemon, jobs: Any) -> None:
    with pytest.raises(exceptions.NotFound):
        jobs.get_custom_job(name=f"{PLACE}/customJobs/1")
    entries = ask(daemon, "GET", "/_local/requests").json()["requests"]
    last = [entry for entry in entries if entry["client"].startswith("grpc-python/")][-1]
    assert (last["target"], last["status"]) == ("/google.cloud.aiplatform.v1.JobService/GetCustomJob", 404)


def test_the_port_is_kept_and_another_is_taken_if_it_is_in_use(tmp_path: Path) -> None:
    def port() -> int:
        daemon = Daemon(Settings(data_dir=tmp_path))
        try:
            daemon.start()
            assert daemon.grpc_address is not None
            return int(daemon.grpc_address.rpartition(":")[2])
        finally:
            daemon.close()

    first = port()
    assert port() == first
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first))
        other.listen()
        assert port() != first
