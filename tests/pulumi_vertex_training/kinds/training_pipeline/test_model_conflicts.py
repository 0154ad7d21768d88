"""Two resources with a conflict about one model: its default version, or its creation."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.operation import Operation
from pulumi_vertex_training.core.remote_queries import RemoteQueries
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.training_pipeline import provider as new_models
from pulumi_vertex_training.providers import ModelProvider, TrainingPipelineProvider
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from support.client.plugin import UNKNOWN, PluginProcess

MODEL, PIPELINE = ModelProvider(), TrainingPipelineProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
SERVING = {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "repo/trainer:1"},
}
WIRE = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING["image_uri"]}}


def marks(resource: str) -> dict[str, str]:
    return {"project": "p", "stack": "s", "resource": resource}


def version(resource: str, **more: Any) -> dict[str, Any]:
    return {"display_name": "m", "container_spec": SERVING, "marks": marks(resource), **PLACE, **more}


def checked(plugin: PluginProcess, props: dict[str, Any], olds: dict[str, Any] | None = None) -> Any:
    inputs, failures = plugin.check(MODEL, props, olds)
    assert failures == {}
    return inputs


def aliases(endpoint: Endpoint, name: str) -> dict[str, set[str]]:
    known = models.versions(endpoint, f"projects/local/locations/us-central1/models/{name}")
    return {one.version: set(one.aliases) for one in known}


TWICE = "is_default_version: is true here and in 'first', which is also a version of"


@pytest.mark.parametrize(
    ("second", "said"),
    [
        pytest.param({"parent_model": "shared"}, True, id="both by default"),
        pytest.param(
            {"parent_model": "projects/local/locations/us-central1/models/shared"},
            True,
            id="by its full name",
        ),
        pytest.param({"parent_model": "shared", "is_default_version": False}, False, id="one of the two"),
        pytest.param(
            {"parent_model": "shared", "is_default_version": False, "version_aliases": ["default"]},
            True,
            id="by its alias",
        ),
        pytest.param({"parent_model": "other"}, False, id="another model"),
        pytest.param({"parent_model": UNKNOWN}, False, id="a model that is not known yet"),
        pytest.param({"parent_model": "shared", "location": "europe-west4"}, False, id="another place"),
    ],
)
def test_two_default_versions_of_a_program(plugin: PluginProcess, second: dict[str, Any], said: bool) -> None:
    checked(plugin, version("first", model_id="shared"))
    checked(plugin, version("second", **second))
    assert (TWICE in plugin.stop()) is said


def test_a_resource_has_no_conflict_with_itself(plugin: PluginProcess) -> None:
    inputs = checked(plugin, version("first", model_id="own"))
    checked(plugin, version("first", model_id="own"), inputs)
    assert "is_default_version" not in plugin.stop()


def test_a_version_does_not_take_the_default_back(plugin: PluginProcess, endpoint: Endpoint) -> None:
    inputs = checked(plugin, version("first", model_id="kept"))
    first, old = plugin.create(MODEL, inputs)
    second, _ = plugin.create(MODEL, checked(plugin, version("second", parent_model="kept")))
    assert aliases(endpoint, "kept") == {"1": set(), "2": {"default"}}
    _, outputs, recorded = plugin.read(MODEL, first, old)
    assert outputs["is_default_version"] is True
    assert plugin.diff(MODEL, outputs, inputs) == (False, [])
    new = checked(plugin, version("first", model_id="kept", description="better"), recorded)
    plugin.update(MODEL, first, outputs, new)
    assert aliases(endpoint, "kept") == {"1": set(), "2": {"default"}}
    assert second.endswith("@2")
    said = plugin.stop()
    assert "model kept@1 is no longer the default version: version 2 is, of second in p/s" in said


def test_a_version_that_is_to_be_the_default_from_now_on_is(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    models.upload(endpoint, WIRE, model_id="later")
    inputs = checked(plugin, version("second", parent_model="later", is_default_version=False))
    second, old = plugin.create(MODEL, inputs)
    assert aliases(endpoint, "later") == {"1": {"default"}, "2": set()}
    new = checked(plugin, version("second", parent_model="later", is_default_version=True), inputs)
    assert plugin.diff(MODEL, old, new) == (True, [])
    plugin.update(MODEL, second, old, new)
    assert aliases(endpoint, "later") == {"1": set(), "2": {"default"}}


def test_of_a_version_that_nobody_marked_the_number_is_said(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    first, old = plugin.create(MODEL, checked(plugin, version("first", model_id="lost")))
    model, number = models.upload(endpoint, WIRE, parent_model=first.partition("@")[0])
    models.merge_aliases(endpoint, f"{model}@{number}", ["default"])
    plugin.read(MODEL, first, old)
    assert "is no longer the default version: version 2 is. This version does not be" in plugin.stop()


def pipeline(resource: str, **more: Any) -> dict[str, Any]:
    return {
        "display_name": resource,
        "custom_task": {"worker_pool_specs": [POOL]},
        "model_to_upload": {"display_name": "m", "container_spec": SERVING},
        "staging_bucket": "staging",
        "marks": marks(resource),
        **PLACE,
        **more,
    }


@pytest.mark.parametrize(
    ("second", "refused"),
    [
        pytest.param({"model_id": "fresh"}, True, id="a new model"),
        pytest.param({"model_id": "fresher"}, False, id="each its own"),
        pytest.param({"parent_model": "fresh"}, False, id="a version of it"),
        pytest.param({"model_id": "there"}, False, id="a model that is there"),
        pytest.param({"model_id": UNKNOWN}, False, id="an id that is not known yet"),
        pytest.param({"model_id": "fresh", "location": "europe-west4"}, False, id="another place"),
    ],
)
def test_two_pipelines_that_make_a_model(
    plugin: PluginProcess, endpoint: Endpoint, second: dict[str, Any], refused: bool
) -> None:
    if second["model_id" if "model_id" in second else "parent_model"] == "there":
        models.upload(endpoint, WIRE, model_id="there")
    first = "there" if second.get("model_id") == "there" else "fresh"
    assert plugin.check(PIPELINE, pipeline("first", model_id=first))[1] == {}
    _, failures = plugin.check(PIPELINE, pipeline("second", **second))
    assert list(failures) == (["model_id"] if refused else [])
    if refused:
        assert "'fresh' is also the model_id of pipeline 'first'." in failures["model_id"]
        assert "parent_model=other.model" in failures["model_id"]


def test_a_pipeline_that_exists_is_warned_and_not_refused(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(PIPELINE, pipeline("third", model_id="own"))
    assert plugin.check(PIPELINE, pipeline("second", model_id="made"))[1] == {}
    assert plugin.check(PIPELINE, pipeline("third", model_id="made"), inputs)[1] == {}
    assert "model_id: 'made' is also the model_id of pipeline 'second'." in plugin.stop()


def test_a_pipeline_that_is_renamed_and_changed_has_no_conflict_with_itself(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(PIPELINE, pipeline("first", model_id="own"))
    renamed = pipeline("renamed", model_id="other")
    checked, failures = plugin.check(PIPELINE, renamed, inputs)
    assert (failures, checked["marks"]) == ({}, marks("renamed"))
    assert "model_id" not in plugin.stop()


@pytest.mark.parametrize(
    ("answer", "level"),
    [
        pytest.param(LookupResult.ABSENT, "error", id="it is not there"),
        pytest.param(None, "warning", id="no answer"),
        pytest.param(object(), None, id="it is there"),
    ],
)
def test_what_is_not_known_refuses_nothing(answer: object, level: str | None) -> None:
    class Answered(RemoteQueries):
        def ask(self, *_: Any, **__: Any) -> Any:
            return answer

    operation, questions = Operation(), Answered()
    specs = [new_models.DECLARED.decode_inputs(pipeline(name, model_id="asked")).spec for name in "ab"]
    found = [
        new_models.conflicting_pipeline(spec, frozenset(), operation=operation, questions=questions)
        for spec in specs
    ]
    assert [problem and problem.level for problem in found] == [None, level]
