"""A model whose `artifact_uri` comes from an output that is None, which the resource passes as ""."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.kinds.model import resource
from pulumi_vertex_training.program.arguments import checks as arguments
from pulumi_vertex_training.providers import ModelProvider
from support.client.plugin import PluginProcess

MODEL = ModelProvider()
FILES = "gs://b/first/model"
IMAGE = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"


def model(**more: Any) -> dict[str, Any]:
    return {
        "display_name": "m",
        "model_id": "m",
        "container_spec": {"image_uri": IMAGE},
        "marks": {"project": "p", "stack": "s", "resource": "m"},
        "endpoint": "emulator",
        "project": "local",
        "location": "us-central1",
        **more,
    }


def test_a_new_one_is_refused(plugin: PluginProcess) -> None:
    _, failures = plugin.check(MODEL, model(artifact_uri=""))
    assert list(failures) == ["artifact_uri"]
    assert 'Give the job wait="done"' in failures["artifact_uri"]


def test_other_faults_are_reported(plugin: PluginProcess) -> None:
    _, failures = plugin.check(MODEL, model(artifact_uri="", model_id="No id"))
    assert sorted(failures) == ["artifact_uri", "model_id"]


def test_one_that_is_there_keeps_its_files(plugin: PluginProcess) -> None:
    inputs, failures = plugin.check(
        MODEL, model(artifact_uri="", description="new"), model(artifact_uri=FILES)
    )
    assert (inputs["artifact_uri"], inputs["description"], failures) == (FILES, "new", {})


def test_its_replacement_keeps_them_as_well(plugin: PluginProcess) -> None:
    other = model(artifact_uri="", container_spec={"image_uri": IMAGE.replace("1-6", "1-5")})
    plugin.check(MODEL, other, model(artifact_uri=FILES))
    inputs, failures = plugin.check(MODEL, other)
    assert (inputs["artifact_uri"], failures) == (FILES, {})


def test_one_without_files_stays_without(plugin: PluginProcess) -> None:
    inputs, failures = plugin.check(MODEL, model(), model(artifact_uri=FILES))
    assert (inputs.get("artifact_uri"), failures) == (None, {})


@pytest.mark.parametrize("given", [None, "gs://b/model"])
def test_only_outputs_are_looked_into(given: str | None) -> None:
    assert resource.empty_if_none(given) is given
    assert arguments.not_none("m", "parent_model", given, remedy="") is given


@pytest.mark.parametrize(("known", "expected"), [(None, ""), ("gs://b/model", "gs://b/model")])
def test_an_output_that_is_none(known: str | None, expected: str) -> None:
    async def value() -> Any:
        return await resource.empty_if_none(pulumi.Output.from_input(known)).future()

    assert asyncio.run(value()) == expected
