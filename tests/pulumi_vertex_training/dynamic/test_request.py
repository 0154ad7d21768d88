"""The parts of the engine's request that Pulumi's host keeps to itself, in the host and outside of it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.core.call import Call, Created
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.dynamic.adapter import DynamicProvider
from support.client.plugin import PluginProcess, serialized

PROVIDER = """
from pulumi_vertex_training.core.call import Call, Checked, Created
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.dynamic.adapter import DynamicProvider


class Telling(Provider):
    def check(self, call: Call) -> Checked:
        return Checked(inputs={"urn": call.urn, "seed": call.seed.decode()})

    def create(self, call: Call) -> Created:
        return Created(id="1", outputs={"urn": call.urn, "timeout": call.timeout})


class TellingProvider(DynamicProvider):
    provider = Telling()
"""
URN = "urn:pulumi:dev::program::pulumi-python:dynamic/custom:Job::train"


def test_the_host_has_the_urn_the_seed_and_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "provider_that_tells.py").write_text(PROVIDER)
    monkeypatch.syspath_prepend(tmp_path)
    properties = serialized(importlib.import_module("provider_that_tells").TellingProvider(), {})
    with PluginProcess(tmp_path) as plugin:
        checked = plugin.stub.Check(provider_pb2.CheckRequest(urn=URN, news=properties, randomSeed=b"seed"))
        created = plugin.stub.Create(provider_pb2.CreateRequest(urn=URN, properties=properties, timeout=90))
        plain = plugin.stub.Create(provider_pb2.CreateRequest(urn=URN, properties=properties))
    inputs = rpc.deserialize_properties(checked.inputs)
    assert (inputs["urn"], inputs["seed"]) == (URN, "seed")
    outputs = rpc.deserialize_properties(created.properties)
    assert (outputs["urn"], outputs["timeout"]) == (URN, 90)
    assert rpc.deserialize_properties(plain.properties).get("timeout") is None


def test_outside_of_a_host_nothing_is_known() -> None:
    seen: list[Call] = []

    class Keeping(Provider):
        def create(self, call: Call) -> Created:
            seen.append(call)
            return Created(id="1", outputs={})

    made = type("KeepingProvider", (DynamicProvider,), {"provider": Keeping()})()
    made.create({"a": 1})
    assert seen == [Call(inputs={"a": 1})]
