"""The stack's key by `CheckConfig`: kept, taken from another provider of the package, or new."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.core.identity.stack_key import OtherFormError
from pulumi_vertex_training.core.state import running_stack
from pulumi_vertex_training.core.state.entries import PROVIDER_TYPE
from pulumi_vertex_training.engine_command import EngineCommand
from pulumi_vertex_training.package import configuration, stack_key
from pulumi_vertex_training.registry import type_token
from pulumi_vertex_training.timeouts import ORDINARY
from vertex_training.fields.decode import UNKNOWN

URN = f"urn:pulumi:dev::digits::{PROVIDER_TYPE}::default_0_2_0"


def entry(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:dev::digits::{type_}::{name}", "type": type_, **more}


def provider(name: str, key: str, created: str) -> dict[str, Any]:
    return entry(PROVIDER_TYPE, name, created=created, inputs={stack_key.INPUT: key})


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the resources of the state that Pulumi exports."""
    resources: list[dict[str, Any]] = []

    def export(_urn: str, _timeouts: object, read: Callable[[dict[str, Any]], Any]) -> Any:
        return read({"deployment": {"resources": resources}})

    monkeypatch.setattr(running_stack, "export", export)
    return resources


def test_a_recorded_key_is_kept_without_asking() -> None:
    assert stack_key.chosen(URN, {stack_key.INPUT: "5eed"}, ORDINARY) == ("5eed", False)


def test_an_upgraded_provider_takes_the_key_of_the_oldest_one(state: list[dict[str, Any]]) -> None:
    state += [
        provider("default_0_1_1", "0002", "2026-02-01T00:00:00Z"),
        provider("default_0_1_0", "0001", "2026-01-01T00:00:00Z"),
        entry("pulumi:providers:gcp", "default", created="2025-01-01", inputs={stack_key.INPUT: "0003"}),
    ]
    assert stack_key.chosen(URN, {}, ORDINARY) == ("0001", False)


def test_a_new_stack_of_a_deployment_that_is_not_known_gets_a_random_key(state: list[dict[str, Any]]) -> None:
    keys = {stack_key.chosen(URN, {}, ORDINARY) for _ in range(2)}
    assert len(keys) == 2
    assert all(is_new and len(key) == 16 for key, is_new in keys)
    assert not state


def test_new_providers_of_one_deployment_get_one_key() -> None:
    def key(identity: str, stack: str = "dev", name: str = "default_0_2_0") -> str:
        urn = f"urn:pulumi:{stack}::digits::{PROVIDER_TYPE}::{name}"
        return stack_key.first(urn, EngineCommand(program="pulumi", arguments=["up"], identity=identity))

    assert key("one") == key("one", name="explicit")
    assert len({key("one"), key("other"), key("one", "prod"), key(""), key("")}) == 5


def test_a_deployment_with_a_plan_takes_the_key_of_the_plan(
    state: list[dict[str, Any]], tmp_path: Path
) -> None:
    def key(urn: str, text: str) -> tuple[str, bool]:
        (tmp_path / "plan.json").write_text(text)
        running = EngineCommand(program="pulumi", arguments=("up", "--plan", "plan.json"), folder=tmp_path)
        return stack_key.chosen(urn, {}, ORDINARY, find=lambda _: running)

    goal = {"inputDiff": {"adds": {stack_key.INPUT: "91a4"}}}
    plan = json.dumps({"resourcePlans": {URN: {"goal": goal}}})
    assert key(URN, plan) == ("91a4", False)
    assert key(f"{URN}_other", plan)[1]
    assert key(URN, "no plan")[1]
    state.append(provider("default_0_1_0", "0001", "2026-01-01T00:00:00Z"))
    assert key(URN, plan) == ("0001", False)


def test_a_stack_of_dynamic_resources_is_refused(state: list[dict[str, Any]]) -> None:
    state.append(entry(type_token("StackKey"), "vertex-training"))
    with pytest.raises(OtherFormError, match="migrate-state --to package"):
        stack_key.chosen(URN, {}, ORDINARY)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"endpoint": "googl"}, "must be 'emulator' or 'google'"),
        ({"lookupTimeout": "soon"}, "must be a number of seconds"),
        ({"maxRunCost": "5"}, "only programs in Python keep to it yet"),
        ({"endpoint": UNKNOWN, "project": UNKNOWN}, ""),
    ],
)
def test_a_wrong_configuration_is_refused(given: dict[str, Any], problem: str) -> None:
    found = list(configuration.problems(given))
    assert len(found) == bool(problem)
    assert problem in "".join(found)


def test_a_stack_without_an_endpoint_is_warned_of() -> None:
    (found,) = configuration.warnings({}, (), "dev")
    assert "stack dev has no vertex-training:endpoint" in found
    assert not list(configuration.warnings({}, (), "local"))
    assert not list(configuration.warnings({"endpoint": "emulator"}, (), "dev"))
