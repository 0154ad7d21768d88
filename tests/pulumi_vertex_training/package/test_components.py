"""Components that the plugin constructs, over gRPC, with a monitor of this test in place of an engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2, resource_pb2, resource_pb2_grpc

from pulumi_vertex_training.engine_values import OUTPUT, SIGNATURE
from pulumi_vertex_training.package.wire import properties
from support.client.package_process import JOB, PackageProcess, urn_of
from vertex_training.fields.decode import UNKNOWN

TRAINING = "vertex-training:index:DistributedTraining"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SOURCE = urn_of("vertex-training:index:StagingBucket", "source")


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """The part of an engine that registers resources. Each job waits until there are `jobs` of them."""

    def __init__(self, jobs: int) -> None:
        self.registered: list[Any] = []
        self.outputs: list[Any] = []
        self._together = threading.Barrier(jobs)
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        resource_pb2_grpc.add_ResourceMonitorServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def GetDeploymentInfo(self, _request: Any, _context: grpc.ServicerContext) -> Any:  # noqa: N802
        found = resource_pb2.ResourceMonitorFeature.values()
        return resource_pb2.DeploymentInfo(supportedFeatures=found)

    def RegisterResource(self, request: Any, _context: grpc.ServicerContext) -> Any:  # noqa: N802
        self.registered.append(request)
        if request.type.endswith(":CustomJob"):
            self._together.wait(60)
        urn = urn_of(request.type, request.name)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=request.name, object=request.object)

    def RegisterResourceOutputs(self, request: Any, _context: grpc.ServicerContext) -> Any:  # noqa: N802
        self.outputs.append(request)
        return struct_pb2.Value()

    def of(self, kind: str, name: str) -> Any:
        """Return the registration of a resource."""
        return next(one for one in self.registered if one.type.endswith(f":{kind}") and one.name == name)

    def stop(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def plugin(data_dir: Path) -> Iterator[PackageProcess]:
    with PackageProcess({"endpoint": "emulator", "dataDir": str(data_dir)}) as process:
        yield process


def construct(plugin: PackageProcess, monitor: Monitor, name: str, inputs: Any, **more: Any) -> Any:
    request = provider_pb2.ConstructRequest(
        **{"project": "digits", "stack": "dev", "type": TRAINING, "name": name},
        **{"monitorEndpoint": monitor.address, "inputs": inputs, "parent": urn_of("a:b:C", "parent")},
        **more,
    )
    return plugin.stub.Construct(request, timeout=120)


def pool(**more: Any) -> dict[str, Any]:
    return {"machineSpec": {"machineType": "n1-standard-4"}, **more}


def test_two_components_are_constructed_side_by_side(plugin: PackageProcess) -> None:
    """Pass on what a program gives: secrets, dependencies, values that are not known, and options."""
    task = {"imageUri": IMAGE, "env": [{"name": "TOKEN", "value": "hidden"}]}
    output = {SIGNATURE: OUTPUT, "value": "a-bucket", "dependencies": [SOURCE]}
    given = {
        "chief": pool(containerSpec=task),
        "workers": pool(containerSpec=task, replicaCount=UNKNOWN),
        "parameterServers": pool(containerSpec={"imageUri": IMAGE}),
        "bucket": output,
        "labels": {"my_team": "a"},
        "wait": "done",
    }
    inputs = properties.write(given, frozenset({"chief.containerSpec.env[0].value"}))
    provider = "urn:pulumi:dev::digits::pulumi:providers:gcp::mine::an-id"
    monitor = Monitor(jobs=2)
    try:
        with futures.ThreadPoolExecutor(2) as threads:
            options: dict[str, Any] = {"dryRun": True, "protect": True, "providers": {"gcp": provider}}
            one = threads.submit(construct, plugin, monitor, "one", inputs, **options)
            other = threads.submit(construct, plugin, monitor, "other", inputs, dryRun=True)
            answers = [one.result(), other.result()]
    finally:
        monitor.stop()
    assert [answer.urn for answer in answers] == [urn_of(TRAINING, name) for name in ("one", "other")]
    state = properties.read(answers[0].state).values
    assert (state["bucketName"], state["job"], state["packageUris"]) == ("a-bucket", "one", [])
    assert state["state"] is UNKNOWN
    assert list(answers[0].stateDependencies["bucketName"].urns) == [SOURCE]
    assert [monitor.of("CustomJob", name).protect for name in ("one", "other")] == [True, False]
    component, job = monitor.of("DistributedTraining", "one"), monitor.of("CustomJob", "one")
    assert dict(component.providers) == {"gcp": provider}
    assert SOURCE in job.dependencies
    declared = properties.read(job.object)
    token = "workerPoolSpecs[0].{}.env[0].value"
    assert declared.secrets == {token.format("container_spec")}
    checked, reasons = plugin.check(JOB, "one", declared.values, secrets=declared.secrets)
    assert (checked.secrets, reasons) == ({token.format("containerSpec"), "__run.spec_hash"}, [])
    assert declared.values["__program"] == "component"
    assert (declared.values["wait"], declared.values["labels"]) == ("done", {"my_team": "a"})
    specs = declared.values["workerPoolSpecs"]
    assert [one.get("replica_count") for one in specs] == [1, UNKNOWN, 1]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (
            {"chief": pool(), "parameterServers": pool(), "repository": "a/b/c"},
            [
                "one: chief: the pool has no containerSpec and no pythonPackageSpec",
                "one: parameterServers: the pool has no containerSpec",
                "one: repository is given, but no image is built",
            ],
        ),
        (
            {"chief": "a", "image": {"sources": "x"}, "cheif": {}},
            [
                "one: chief is 'a'; give a pool",
                "one: image.sources: unknown argument; did you mean source?",
                "one: image.source is missing; TrainingImage needs it",
                "one: cheif: unknown argument; did you mean chief?",
            ],
        ),
        (
            {"chief": pool(containerSpec={"imageUri": IMAGE}), "keepRuns": -1},
            ["one: keepRuns is -1; it must"],
        ),
    ],
)
def test_all_mistakes_are_reported_at_once(
    plugin: PackageProcess, inputs: dict[str, Any], expected: list[str]
) -> None:
    monitor = Monitor(jobs=1)
    try:
        with pytest.raises(grpc.RpcError) as caught:
            construct(plugin, monitor, "one", properties.write(inputs))
    finally:
        monitor.stop()
    found = caught.value.details().splitlines()  # type: ignore[attr-defined]
    assert len(found) == len(expected)
    for line, start in zip(sorted(found), sorted(expected), strict=True):
        assert line.startswith(start)


def test_a_component_that_does_not_exist(plugin: PackageProcess) -> None:
    monitor = Monitor(jobs=1)
    try:
        request = provider_pb2.ConstructRequest(
            type="vertex-training:index:Other", monitorEndpoint=monitor.address
        )
        with pytest.raises(grpc.RpcError, match="Other is no component of this package"):
            plugin.stub.Construct(request)
    finally:
        monitor.stop()
