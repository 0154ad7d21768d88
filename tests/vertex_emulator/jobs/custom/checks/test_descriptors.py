"""The bundled definitions against the installed google-cloud-aiplatform, which drifts with its upgrades."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.cloud import aiplatform_v1
from google.cloud.aiplatform_v1.services.dataset_service.transports import rest_base as dataset
from google.cloud.aiplatform_v1.services.endpoint_service.transports import rest_base as endpoint
from google.cloud.aiplatform_v1.services.job_service.transports import rest_base as job
from google.cloud.aiplatform_v1.services.job_service.transports.rest import JobServiceRestTransport
from google.cloud.aiplatform_v1.services.metadata_service.transports import rest_base as metadata
from google.cloud.aiplatform_v1.services.model_service.transports import rest_base as model
from google.cloud.aiplatform_v1.services.notebook_service.transports import rest_base as notebook
from google.cloud.aiplatform_v1.services.persistent_resource_service.transports import (
    rest_base as persistent_resource,
)
from google.cloud.aiplatform_v1.services.pipeline_service.transports import rest_base as pipeline
from google.cloud.aiplatform_v1.services.schedule_service.transports import rest_base as schedule
from google.cloud.aiplatform_v1.services.tensorboard_service.transports import rest_base as tensorboard
from google.protobuf import descriptor_pool

from support.emulated.job_emulator import SLEEP, JobEmulator, Token, pool
from support.tables import every_row, not_empty
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc import methods as rpc

CLIENTS: dict[str, Any] = {
    descriptors.JOB_SERVICE: job._BaseJobServiceRestTransport,
    descriptors.PIPELINE_SERVICE: pipeline._BasePipelineServiceRestTransport,
    descriptors.MODEL_SERVICE: model._BaseModelServiceRestTransport,
    descriptors.DATASET_SERVICE: dataset._BaseDatasetServiceRestTransport,
    descriptors.PERSISTENT_RESOURCE_SERVICE: (
        persistent_resource._BasePersistentResourceServiceRestTransport
    ),
    descriptors.TENSORBOARD_SERVICE: tensorboard._BaseTensorboardServiceRestTransport,
    descriptors.METADATA_SERVICE: metadata._BaseMetadataServiceRestTransport,
    descriptors.ENDPOINT_SERVICE: endpoint._BaseEndpointServiceRestTransport,
    descriptors.NOTEBOOK_SERVICE: notebook._BaseNotebookServiceRestTransport,
    descriptors.SCHEDULE_SERVICE: schedule._BaseScheduleServiceRestTransport,
}
METHODS = [(service, method) for service in CLIENTS for method in descriptors.methods(service)]


def rules_of_client(rpc_name: str, service: str = descriptors.JOB_SERVICE) -> set[tuple[str, str, str]]:
    options = getattr(CLIENTS[service], f"_Base{rpc_name}")._get_http_options()
    return {(each["method"].upper(), each["uri"], each.get("body", "")) for each in options}


@pytest.mark.parity(
    "The interface: methods and messages",
    own_way="the same definitions, compiled, over both; other methods are UNIMPLEMENTED, by name",
)
@every_row(("service", "method"), METHODS, ids=[method.name for _, method in METHODS])
def test_rules(service: str, method: descriptors.Method) -> None:
    ours = {(rule.verb, rule.uri, rule.body) for rule in method.rules}
    assert ours == rules_of_client(method.name.rpartition(".")[2], service)


@pytest.mark.parity("The interface: methods and messages")
@pytest.mark.parametrize("service", CLIENTS)
def test_every_method_of_the_client_is_known(service: str) -> None:
    names = {method.name.rpartition(".")[2] for method in descriptors.methods(service)}
    client = {name.removeprefix("_Base") for name in vars(CLIENTS[service]) if name.startswith("_Base")}
    mixins = {"GetOperation", "ListOperations", "CancelOperation", "DeleteOperation", "WaitOperation"}
    others = {"GetLocation", "ListLocations", "GetIamPolicy", "SetIamPolicy", "TestIamPermissions"}
    assert names == client - mixins - others


@pytest.mark.parametrize("name", sorted(rpc.OPERATION_RULES))
def test_rules_of_operations(name: str) -> None:
    """Compare with the client's rules, which have `*` in place of the names in ours."""
    client = {(verb, uri) for verb, uri, _ in rules_of_client(name)}
    for rule in not_empty(rpc.OPERATION_RULES[name]):
        assert (rule.verb, rule.uri) in client


@pytest.mark.parity("The interface: methods and messages")
def test_messages_have_the_fields_of_the_client() -> None:
    """Every message that the resources consist of: numbers, types, labels and JSON names."""
    seen: set[str] = set()

    def compare(ours: Any, theirs: Any) -> None:
        if ours.full_name in seen:
            return
        seen.add(ours.full_name)
        assert {each.name: shape(each) for each in ours.fields} == {
            each.name.removesuffix("_"): shape(each)
            for each in theirs.fields  # "exec_" in Python
        }
        others = {each.number: each.message_type for each in theirs.fields}
        for field in ours.fields:
            if field.message_type is not None:
                compare(field.message_type, others[field.number])

    def shape(field: Any) -> tuple[Any, ...]:
        enum = field.enum_type
        values = {name: each.number for name, each in enum.values_by_name.items()} if enum else {}
        oneof = field.containing_oneof.name if field.containing_oneof else ""
        return field.number, field.type, field.is_repeated, values, oneof

    assert aiplatform_v1.CustomJob is not None  # loads the client's definitions into the default pool
    for name in (
        "CustomJob",
        "CreateCustomJobRequest",
        "ListCustomJobsRequest",
        "DeleteOperationMetadata",
        "HyperparameterTuningJob",
        "TrainingPipeline",
        "Dataset",
        "UploadModelRequest",
        "ListModelsRequest",
        "PersistentResource",
        "CreatePersistentResourceOperationMetadata",
        "Tensorboard",
        "TensorboardExperiment",
        "TensorboardRun",
        "TensorboardTimeSeries",
        "WriteTensorboardExperimentDataRequest",
        "Context",
        "Artifact",
        "LineageSubgraph",
        "Endpoint",
    ):
        full = f"google.cloud.aiplatform.v1.{name}"
        compare(
            descriptors.pool().FindMessageTypeByName(full),
            descriptor_pool.Default().FindMessageTypeByName(full),
        )
    assert len(seen) > 20


def test_the_data_is_small_and_in_a_pool_of_its_own() -> None:
    names = [method.name for method in descriptors.methods(descriptors.OPERATIONS)]
    assert sorted(re.sub(r".*\.", "", name) for name in names) == sorted(rpc.OPERATION_RULES)
    assert descriptors.pool() is not descriptor_pool.Default()
    with pytest.raises(ValueError, match="unknown methods"):
        rpc.routes(
            (descriptors.JOB_SERVICE,),
            {"google.cloud.aiplatform.v1.JobService.CreateNothing": lambda request: request},
        )


def test_googles_own_client(emulator: JobEmulator) -> None:
    transport = JobServiceRestTransport(
        host=emulator.daemon.url.removeprefix("http://"),
        url_scheme="http",
        credentials=Token(emulator.daemon.token),
    )
    transport._session.trust_env = False
    with aiplatform_v1.JobServiceClient(transport=transport) as client:
        parent = "projects/local/locations/us-central1"
        wanted = aiplatform_v1.CustomJob(
            display_name="by the client",
            labels={"run": "1"},
            job_spec=aiplatform_v1.CustomJobSpec(
                worker_pool_specs=[
                    aiplatform_v1.WorkerPoolSpec(
                        machine_spec=aiplatform_v1.MachineSpec(
                            machine_type="n1-standard-4",
                            accelerator_type=aiplatform_v1.AcceleratorType.NVIDIA_TESLA_T4,
                            accelerator_count=1,
                        ),
                        replica_count=1,
                        container_spec=aiplatform_v1.ContainerSpec(
                            image_uri=pool()["containerSpec"]["imageUri"], command=["python3", "-c", SLEEP]
                        ),
                    )
                ],
                scheduling=aiplatform_v1.Scheduling(timeout={"seconds": 3600}),
            ),
        )
        created = client.create_custom_job(parent=parent, custom_job=wanted)
        assert created.state == aiplatform_v1.JobState.JOB_STATE_PENDING
        assert created.job_spec.scheduling.timeout.seconds == 3600
        emulator.wait(created.name, "JOB_STATE_RUNNING")
        found = list(client.list_custom_jobs(request={"parent": parent, "filter": "labels.run=1"}))
        assert [each.name for each in found] == [created.name]
        client.cancel_custom_job(name=created.name)
        emulator.wait(created.name)
        ended = client.get_custom_job(name=created.name)
        assert ended.state == aiplatform_v1.JobState.JOB_STATE_CANCELLED
        assert ended.error.code == 1
        operation = client.delete_custom_job(name=created.name)
        assert operation.result(timeout=5) is not None
        assert operation.metadata.generic_metadata.create_time is not None
        assert list(client.list_custom_jobs(parent=parent)) == []
