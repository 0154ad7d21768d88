"""The parts of the engine's request that Pulumi's host keeps to itself, in the host and outside of it."""

from __future__ import annotations

import importlib
from pathlib import Path

import grpc
import pytest
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.core.call import Call, Checked, Created
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT, PREVIEW_INPUT
from pulumi_vertex_training.dynamic.adapter import DynamicProvider
from support.client.plugin import PluginProcess, serialized

PROVIDER = """
from pulumi_vertex_training.core.call import Call, Checked, Created, Values
from pulumi_vertex_training.core.provider import Failure, Provider
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT, PREVIEW_INPUT
from pulumi_vertex_training.dynamic.adapter import DynamicProvider


class Telling(Provider):
    def check(self, call: Call) -> Checked:
        return Checked(inputs={"urn": call.urn, "seed": call.seed.decode()})

    def create(self, call: Call) -> Created:
        return Created(id="1", outputs={"urn": call.urn, "timeout": call.timeout})

    def update(self, call: Call) -> Values:
        return {"urn": call.urn, "timeout": call.timeout}

    def delete(self, call: Call) -> None:
        raise Failure(f"{call.urn} has {call.timeout:g} s")


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
        updated = plugin.stub.Update(
            provider_pb2.UpdateRequest(urn=URN, olds=properties, news=properties, timeout=80)
        )
        with pytest.raises(grpc.RpcError, match=f"{URN} has 70 s"):
            plugin.stub.Delete(provider_pb2.DeleteRequest(urn=URN, properties=properties, timeout=70))
        plain = plugin.stub.Create(provider_pb2.CreateRequest(urn=URN, properties=properties))
    inputs = rpc.deserialize_properties(checked.inputs)
    assert (inputs["urn"], inputs["seed"]) == (URN, "seed")
    for answer, timeout in ((created, 90), (updated, 80)):
        outputs = rpc.deserialize_properties(answer.properties)
        assert (outputs["urn"], outputs["timeout"]) == (URN, timeout)
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


def test_without_a_urn_kind_and_names_stand_in() -> None:
    """Let later calls know what a check learned, by a name that the check fills in."""
    seen: list[Call] = []

    class Keeping(Provider):
        names = ("name",)

        def check(self, call: Call) -> Checked:
            seen.append(call)
            return Checked(inputs={**call.inputs, "name": "r-7"})

        def create(self, call: Call) -> Created:
            seen.append(call)
            return Created(id="1", outputs={})

    made = type("KeepingProvider", (DynamicProvider,), {"provider": Keeping()})()
    other = type("OtherProvider", (DynamicProvider,), {"provider": type("Other", (Keeping,), {})()})()
    declared = {"marks": {"resource": "r"}}
    made.check({"a": 0}, {**declared, KEY_INPUT: "key", PREVIEW_INPUT: True})
    for each in (made, other):
        each.create({**declared, "name": "r-7"})
    check, create, foreign = seen
    assert check.inputs == declared
    assert [(each.key, each.is_preview) for each in seen] == [("key", True), ("key", True), ("", False)]
    assert create.context is check.context is not foreign.context
    assert (create.context.recorded, create.context.checked) == ({"a": 0}, {**declared, "name": "r-7"})
