from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model.kind import (
    RegisteredModelSpec,
    alias_changes,
    aliases,
    from_wire,
    matches,
    normalise,
    patches,
    spec_hash,
    to_wire,
)
from pulumi_vertex_training.kinds.model.spec import ModelContainerSpec
from support.client.specs import pipeline_specs
from support.properties import examples
from vertex_training.fields.decode import decode
from vertex_training.fields.effects import Effect

NAME = "projects/1/locations/us-central1/models/digits"
DIGITS = RegisteredModelSpec(
    display_name="digits",
    model_id="digits",
    artifact_uri="gs://bucket/model",
    container_spec=ModelContainerSpec(image_uri=pipeline_specs.SERVING),
    labels={"team": "a"},
)


def echo(spec=DIGITS, **other):
    return {**to_wire(spec, marks={"pulumi-stack": "s"}), "name": f"{NAME}@1", **other}


@given(pipeline_specs.whole_models)
@settings(max_examples=examples(30))
def test_a_model_comes_back_from_its_echo(spec):
    whole = {name: getattr(spec, name) for name in spec.__dataclass_fields__ if name != "SERVER_OWNED"}
    own = normalise(RegisteredModelSpec(**whole, model_id="digits"))
    assert from_wire(echo(own), own) == own
    assert normalise(own) == own


@pytest.mark.parametrize(
    ("found", "is_default"),
    [
        pytest.param(["default"], True, id="default"),
        pytest.param([], False, id="another version is the default now"),
    ],
)
def test_whether_it_is_the_default_version(found, is_default):
    assert from_wire(echo(versionAliases=found), DIGITS).is_default_version is is_default


def test_a_first_version_that_has_to_be_the_default_is_no_difference():
    declared = replace(DIGITS, is_default_version=False)
    assert from_wire(echo(versionAliases=["default"]), declared) == declared


def test_an_answer_without_the_container_is_no_difference():
    bare = {name: value for name, value in echo().items() if name != "containerSpec"}
    assert from_wire(bare, DIGITS) == DIGITS


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        pytest.param({}, ("default",), id="default"),
        pytest.param({"version_aliases": ("b", "a")}, ("a", "b", "default"), id="others"),
        pytest.param({"is_default_version": False}, (), id="none"),
        pytest.param(
            {"is_default_version": False, "version_aliases": ("default",)}, ("default",), id="by name"
        ),
    ],
)
def test_the_aliases_of_a_version(declared, names):
    assert aliases(normalise(replace(DIGITS, **declared))) == names


@pytest.mark.parametrize(
    ("live", "declared", "changes"),
    [
        pytest.param(("default",), {}, (), id="nothing"),
        pytest.param((), {"version_aliases": ("new",)}, ("default", "new"), id="added"),
        pytest.param(("default", "old"), {}, ("-old",), id="taken away"),
        pytest.param(("default",), {"is_default_version": False}, (), id="default stays until it is taken"),
    ],
)
def test_what_changes_of_the_aliases(live, declared, changes):
    assert alias_changes(live, replace(DIGITS, **declared)) == changes


@pytest.mark.parametrize(
    ("changes", "of_model", "of_version"),
    [
        pytest.param({}, {}, {}, id="nothing"),
        pytest.param({"description": "new"}, {"description": "new"}, {}, id="model"),
        pytest.param({"version_description": "new"}, {}, {"versionDescription": "new"}, id="version"),
        pytest.param(
            {"labels": {}}, {"labels": {"pulumi-a": "b"}}, {"labels": {"pulumi-a": "b"}}, id="labels of both"
        ),
    ],
)
def test_what_an_update_sends(changes, of_model, of_version):
    found = patches(DIGITS, replace(DIGITS, **changes), marks={"pulumi-a": "b"})
    assert found == (of_model, of_version)


def test_a_description_is_taken_away_by_an_empty_one():
    assert patches(replace(DIGITS, description="old"), DIGITS, marks={})[0] == {"description": ""}


def test_labels_of_a_version_leave_the_model_of_somebody_else_alone():
    old = replace(DIGITS, model_id=None, parent_model="theirs")
    of_model, of_version = patches(old, replace(old, labels={}), marks={})
    assert (of_model, of_version) == ({}, {"labels": {}})


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"display_name": "other"}, True, id="a setting"),
        pytest.param({"version_aliases": ("golden",)}, True, id="aliases"),
        pytest.param({"artifact_uri": "gs://bucket/other"}, False, id="files"),
        pytest.param({"container_spec": ModelContainerSpec(image_uri="repo/b:1")}, False, id="container"),
    ],
)
def test_whether_a_version_is_as_good_as_declared(changes, same):
    wanted = replace(DIGITS, **changes)
    assert matches(echo(), wanted) is same
    assert (spec_hash(DIGITS) == spec_hash(wanted)) is same


@pytest.mark.parametrize(
    ("given", "path"),
    [
        pytest.param({"display_name": "d", "artifact_uri": "gs://b/m"}, "container_spec", id="no container"),
        pytest.param({"display_name": "", "model_id": "m"}, "display_name", id="no name"),
    ],
)
def test_what_is_wrong_with_a_version(given, path):
    spec = decode(RegisteredModelSpec, given).draft
    assert [problem.path for problem in registered_model.validate(spec)] == [path]


def test_a_version_without_files_needs_no_container():
    assert registered_model.validate(RegisteredModelSpec(display_name="d", model_id="m")) == []


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        pytest.param("artifact_uri", Effect.REPLACE, id="files"),
        pytest.param("labels", Effect.UPDATE, id="labels"),
        pytest.param("service_account", Effect.NONE, id="account of the upload"),
    ],
)
def test_what_a_change_does(name, effect):
    assert registered_model.EFFECTS[name].effect is effect
