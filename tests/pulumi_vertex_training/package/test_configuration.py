"""The configuration of a provider of the package: values of other types, and mistyped keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.package import configuration, stack_key
from pulumi_vertex_training.package.host import EngineHost
from pulumi_vertex_training.package.server import Server
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN


@every_row(
    ("given", "problem"),
    [
        pytest.param(
            {"endpoint": {"a": 1}}, "endpoint is '{\"a\": 1}'; it must be 'emulator' or", id="object"
        ),
        pytest.param(
            {"endpoint": True}, "endpoint is 'true'; it must be 'emulator' or 'google'. Run", id="bool"
        ),
        pytest.param({"lookupTimeout": [1.0]}, "lookupTimeout is '[1.0]'; it must be a number of", id="list"),
        pytest.param({"lookupTimeout": 700.0}, "lookupTimeout is '700'; it must be a number of", id="number"),
        pytest.param(
            {"project": ["x"]}, "project is '[\"x\"]'; it must be the id of a project", id="project"
        ),
        pytest.param({"location": {"x": 1}}, "location is '{\"x\": 1}'; it must be a region", id="location"),
        pytest.param({"dataDir": False}, "dataDir is 'false'; a relative path", id="a folder"),
    ],
)
def test_a_value_of_another_type_is_reported(given: Mapping[str, Any], problem: str) -> None:
    (found,) = configuration.problems({"endpoint": "emulator", **given})
    assert f"vertex-training:{problem}" in found


@every_row(
    "given", [{"lookupTimeout": 5.0}, {"lookupTimeout": "5"}, {"project": 12.0}, {"endpoint": UNKNOWN}, {}]
)
def test_a_value_that_can_be_meant_is_accepted(given: Mapping[str, Any]) -> None:
    assert not list(configuration.problems(given))


@every_row(
    ("name", "value", "remedy"),
    [
        ("endpont", "google", "endpoint google && pulumi config rm vertex-training:endpont`."),
        ("dataDirr", {"a": 1.0}, "dataDir '{\"a\": 1.0}' && pulumi config rm vertex-training:dataDirr`."),
        ("lookupTimeot", UNKNOWN, "lookupTimeout VALUE && pulumi config rm vertex-training:lookupTimeot`."),
    ],
)
def test_a_mistyped_key_is_reported(name: str, value: object, remedy: str) -> None:
    (found,) = configuration.warnings({"endpoint": "emulator", name: value}, (), "dev")
    assert found.startswith(f"vertex-training:{name} has no effect; did you mean vertex-training:")
    assert found.endswith(f"Run `pulumi config set vertex-training:{remedy}")


def test_a_refusal_names_the_stack_in_its_command() -> None:
    news = struct_pb2.Struct()
    news.update({"endpoint": "emulator", "lookupTimeout": "700"})
    urn = "urn:pulumi:dev::digits::pulumi:providers:vertex-training::default"
    olds = struct_pb2.Struct()
    olds.update({stack_key.INPUT: "0123456789abcdef"})  # else Pulumi would be asked for the state
    request = provider_pb2.CheckRequest(urn=urn, olds=olds, news=news)
    (failure,) = Server(EngineHost(None)).CheckConfig(request, cast("Any", None)).failures
    assert "`pulumi config set vertex-training:lookupTimeout " in failure.reason
    assert " --stack dev`" in failure.reason


@pytest.mark.parametrize("path", ["endpont", "endpont.a", "endpont[0]"])
def test_a_mistyped_secret_is_not_printed(path: str) -> None:
    given = {"endpoint": "emulator", "endpont": "hush-hush"}
    (found,) = configuration.warnings(given, {path}, "dev")
    assert "hush" not in found
    assert "vertex-training:endpoint --secret" in found


def test_other_keys_are_left_alone() -> None:
    given = {"endpoint": "emulator", "stackKey": "k", "version": "0.1.0", "mine": "1"}
    assert not list(configuration.warnings(given, (), "dev"))
