"""The parts of Pulumi's SDK that `recording` uses, and the outputs it writes; tests/engine has the rest."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import grpc  # type: ignore[import-untyped]
import pulumi
import pytest
from google.protobuf import json_format, struct_pb2
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2, resource_pb2_grpc

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.declaration import declared_in
from pulumi_vertex_training.engine_values import SECRET, SIGNATURE
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.waiting import recording

NAME = "projects/1/locations/us-central1/customJobs/7"
URN = "urn:pulumi:test::p::t::train"
ENDED = JobRecord(
    name=NAME, display_name="train", state=JobState.JOB_STATE_SUCCEEDED, end_time="2026-01-01T00:00:00Z"
)
HIDDEN = {SIGNATURE: SECRET, "value": "hush"}
OUTPUTS = {"__provider": "pickled", "state": "JOB_STATE_RUNNING", "token": HIDDEN, "name": NAME}


def test_the_installed_sdk_has_the_calls() -> None:
    with grpc.insecure_channel("127.0.0.1:1") as channel:
        monitor = resource_pb2_grpc.ResourceMonitorStub(channel)
    assert callable(monitor.Invoke)
    assert callable(monitor.RegisterResourceOutputs)
    assert {"tok", "args"} <= set(resource_pb2.ResourceInvokeRequest.DESCRIPTOR.fields_by_name)
    assert {"urn", "outputs"} <= set(resource_pb2.RegisterResourceOutputsRequest.DESCRIPTOR.fields_by_name)
    assert callable(settings.get_monitor)


class Monitor:
    """The engine with one resource; `written` has the outputs that were registered."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs
        self.written: list[dict[str, Any]] = []

    def Invoke(self, request: Any) -> Any:  # noqa: N802  the engine's name
        assert request.tok == recording.READ
        assert request.args["urn"] == URN
        answer = struct_pb2.Struct()
        json_format.ParseDict({"state": self.outputs}, answer)
        return SimpleNamespace(**{"return": answer})

    def RegisterResourceOutputs(self, request: Any) -> None:  # noqa: N802  the engine's name
        assert request.urn == URN
        self.written.append(json_format.MessageToDict(request.outputs))


def record(monitor: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    """Record the end of a job. Return the warnings."""
    warnings: list[str] = []
    resource: Any = SimpleNamespace(
        urn=SimpleNamespace(future=lambda: asyncio.sleep(0, URN)), state=None, spec=pulumi.Resource
    )
    monkeypatch.setattr(settings, "get_monitor", lambda: monitor)
    monkeypatch.setattr(messages, "warn", lambda text, _: warnings.append(text))
    asyncio.run(recording.record_end(resource, declared_in("customJobs"), ENDED, **options))
    return warnings


def test_all_outputs_are_kept_and_secrets_stay_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = Monitor(OUTPUTS)
    assert record(monitor, monkeypatch, secret={"end_time"}) == []
    (written,) = monitor.written
    assert written == {
        **OUTPUTS,
        "job_id": "7",
        "state": "JOB_STATE_SUCCEEDED",
        "end_time": {**HIDDEN, "value": "2026-01-01T00:00:00Z"},
    }


def test_nothing_is_written_without_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write nothing without `__provider`: the engine could never delete the resource."""
    monitor = Monitor({name: value for name, value in OUTPUTS.items() if name != "__provider"})
    record(monitor, monkeypatch)
    assert monitor.written == []


def test_an_engine_without_the_calls_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    (warning,) = record(object(), monkeypatch)
    assert "custom job 7 is not recorded in Pulumi's state" in warning
    assert "run `pulumi refresh`" in warning
