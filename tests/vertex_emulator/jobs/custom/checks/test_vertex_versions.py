"""v1 and v1beta1 of Vertex AI, and operations that take their time."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import PARENT, JobEmulator, Token, job, pool
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import connect
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations

HERE = Place(project="local", location="us-central1")


@pytest.fixture
def operations(tmp_path: Path) -> ResourceOperations:
    return ResourceOperations(Operations(connect(tmp_path / "emulator.db")), Clock(tmp_path / "clock.json"))


def call(operations: ResourceOperations, method: str, name: str, **fields: Any) -> Any:
    request = descriptors.message(f"google.longrunning.{method}Request")
    request.name = name
    if "seconds" in fields:
        request.timeout.FromNanoseconds(int(fields["seconds"] * 1e9))
    return operations.stored.bindings()[f"{descriptors.OPERATIONS}.{method}"](request)


def begun(operations: ResourceOperations, **options: Any) -> str:
    metadata = descriptors.message(f"{V1}.CreatePersistentResourceOperationMetadata")
    operation: Any = operations.begin(f"{HERE}/persistentResources/a", metadata, **options)
    return str(operation.name)


def resource() -> Any:
    found = descriptors.message(f"{V1}.PersistentResource")
    found.display_name = "pool"
    return found


def test_an_operation_is_named_below_its_resource(operations: ResourceOperations) -> None:
    assert begun(operations).startswith(f"{HERE}/persistentResources/a/operations/")


def test_an_operation_that_was_begun_is_not_done(operations: ResourceOperations) -> None:
    assert not call(operations, "GetOperation", begun(operations)).done


def test_an_operation_ends_with_its_response(operations: ResourceOperations) -> None:
    name = begun(operations)
    operations.finish(name, resource())
    found = call(operations, "GetOperation", name)
    answer = descriptors.message(f"{V1}.PersistentResource")
    assert found.done
    assert found.response.Unpack(answer)
    assert answer.display_name == "pool"


def test_the_end_is_later_than_the_beginning(operations: ResourceOperations) -> None:
    name = begun(operations)
    time.sleep(0.001)
    operations.finish(name, resource())
    metadata = descriptors.message(f"{V1}.CreatePersistentResourceOperationMetadata")
    call(operations, "GetOperation", name).metadata.Unpack(metadata)
    times = metadata.generic_metadata
    assert times.update_time.ToMicroseconds() > times.create_time.ToMicroseconds()


def test_an_operation_that_failed_says_why(operations: ResourceOperations) -> None:
    name = begun(operations)
    operations.fail(name, 9, "no machines")
    assert call(operations, "GetOperation", name).error.message == "no machines"


def test_what_is_done_does_not_change_again(operations: ResourceOperations) -> None:
    name = begun(operations)
    operations.finish(name, resource())
    operations.fail(name, 9, "too late")
    assert not call(operations, "GetOperation", name).HasField("error")


@pytest.mark.parity("The interface: operations")
def test_waiting_ends_with_the_operation(operations: ResourceOperations) -> None:
    name = begun(operations)
    timer = threading.Timer(0.1, operations.finish, [name, resource()])
    timer.start()
    assert call(operations, "WaitOperation", name, seconds=3600).done
    timer.join()


def test_waiting_ends_after_its_timeout(operations: ResourceOperations) -> None:
    assert not call(operations, "WaitOperation", begun(operations), seconds=0.05).done


@pytest.mark.parity("The interface: operations")
def test_a_cancelled_operation_ends_with_code_1(operations: ResourceOperations) -> None:
    name = begun(operations, cancel=lambda name: operations.fail(name, 1, "CANCELLED"))
    call(operations, "CancelOperation", name)
    assert call(operations, "GetOperation", name).error.code == 1


def test_an_operation_that_cannot_be_cancelled_goes_on(operations: ResourceOperations) -> None:
    name = begun(operations)
    call(operations, "CancelOperation", name)
    assert not call(operations, "GetOperation", name).done


def test_what_is_done_cannot_be_cancelled(operations: ResourceOperations) -> None:
    name = begun(operations)
    operations.finish(name, resource())
    with pytest.raises(RpcError) as error:
        call(operations, "CancelOperation", name)
    assert error.value.code == "FAILED_PRECONDITION"


@pytest.mark.parity("The interface: operations", same="operations survive a restart")
def test_after_a_restart_the_undone_ones_are_known(operations: ResourceOperations, tmp_path: Path) -> None:
    done, undone = begun(operations), begun(operations)
    operations.finish(done, resource())
    again = Operations(connect(tmp_path / "emulator.db"))
    assert [each.name for each in again.undone()] == [undone]


def test_the_beta_client_deletes_a_job(emulator: JobEmulator) -> None:
    """Read its operation with the beta version's messages."""
    from google.cloud import aiplatform_v1beta1  # loading it takes a second

    name = emulator.create(pool())
    emulator.wait(name)
    client = aiplatform_v1beta1.JobServiceClient(
        transport="rest",
        credentials=Token(emulator.daemon.token),
        client_options={"api_endpoint": emulator.daemon.url},
    )
    client.delete_custom_job(name=name).result(timeout=20)
    assert [each.name for each in client.list_custom_jobs(parent=PARENT.removeprefix("/v1/"))] == []


@pytest.mark.parity(
    "The interface: v1 and v1beta1",
    own_way="both, with the messages of v1; features of the beta alone are refused by name",
)
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_both_versions_create(emulator: JobEmulator, version: str) -> None:
    answer = emulator.call("POST", f"{PARENT.replace('v1', version)}/customJobs", job(pool()))
    assert answer.json()["state"] == "JOB_STATE_PENDING"


@pytest.mark.parity("The interface: names")
@pytest.mark.parametrize("project", ["local", "NUMBER"])
def test_a_job_is_found_by_the_project_s_id_and_number(emulator: JobEmulator, project: str) -> None:
    name = emulator.create(pool())
    number = name.split("/")[1]
    other = name.replace(number, project.replace("NUMBER", number))
    assert emulator.get(other)["name"] == name
