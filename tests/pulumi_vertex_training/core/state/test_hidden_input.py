"""The hidden property of a job: what goes in comes out, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.state.hidden_input import (
    hide,
    hide_outputs,
    put,
    recorded_key,
    reveal,
    reveal_outputs,
)
from vertex_training.fields.decode import UNKNOWN

INPUTS = {"display_name": "d", "identity": "a", "spec_hash": "v1-0"}
RUN = {**INPUTS, "run": "a-1", "reruns": 1, "why": "first-run"}
OWN = {**RUN, "base_output_directory": "gs://b/own/"}
CHOSEN = {**RUN, "base_output_directory": "gs://b/d/a-1/", "output_path": "base_output_directory"}
INNER = {
    **RUN,
    "trial_job_spec": {"network": "n", "base_output_directory": "gs://b/d/a-1/"},
    "output_path": "trial_job_spec.base_output_directory",
}
HIDDEN = {"identity": "a", "spec_hash": "v1-0"}
HIDDEN_OF_RUN = {**HIDDEN, "key": "a-1", "reruns": 1, "why": "first-run"}


@pytest.mark.parametrize(
    ("props", "more"),
    [
        pytest.param(INPUTS, {}, id="inputs"),
        pytest.param(OWN, {"base_output_directory": "gs://b/own/"}, id="a directory of the user"),
        pytest.param(CHOSEN, {}, id="a directory of the run"),
        pytest.param(INNER, {"trial_job_spec": {"network": "n"}}, id="one inside"),
    ],
)
def test_inputs_have_nothing_of_a_run(props: dict[str, Any], more: dict[str, Any]) -> None:
    assert hide(props) == {"display_name": "d", **more, "__run": HIDDEN}


def test_a_directory_of_the_user_stays_visible() -> None:
    own = {"display_name": "d", "base_output_directory": "gs://b/own/"}
    assert hide_outputs(OWN) == {**own, "__run": HIDDEN_OF_RUN}
    assert reveal(hide_outputs(OWN)) == OWN


def test_outputs_keep_the_directory_of_the_run_that_programs_read() -> None:
    assert hide_outputs(CHOSEN)["base_output_directory"] == "gs://b/d/a-1/"
    assert "base_output_directory" not in hide_outputs(INNER)
    assert hide_outputs(INNER)["trial_job_spec"] == {"network": "n"}


@pytest.mark.parametrize("props", [CHOSEN, INNER], ids=["chosen", "inside"])
def test_a_directory_of_the_run_is_not_declared(props: dict[str, Any]) -> None:
    found = reveal(hide_outputs(props))
    assert "gs://b/d/a-1/" not in str(found)
    assert found["run"] == "a-1"


@pytest.mark.parametrize("props", [OWN, CHOSEN, INNER], ids=["own", "chosen", "inside"])
def test_outputs_reveal_what_was_hidden(props: dict[str, Any]) -> None:
    assert reveal_outputs(hide_outputs(props)) == props


@pytest.mark.parametrize("props", [INPUTS, {**INPUTS, "spec_hash": UNKNOWN}], ids=["known", "not known yet"])
def test_inputs_reveal_what_was_hidden(props: dict[str, Any]) -> None:
    assert reveal(hide(props)) == props


@pytest.mark.parametrize(
    ("props", "key"),
    [({"__run": {"key": "a-1"}}, "a-1"), ({"__run": {}}, None), ({"__run": "a-1"}, None), ({}, None)],
)
def test_the_recorded_key(props: dict[str, Any], key: str | None) -> None:
    assert recorded_key(props) == key


def test_nothing_is_put_into_what_is_no_object() -> None:
    assert put({"trial_job_spec": UNKNOWN}, ["trial_job_spec", "a"], "b") == {"trial_job_spec": UNKNOWN}
