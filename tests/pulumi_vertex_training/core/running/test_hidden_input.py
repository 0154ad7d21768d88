"""The hidden property of a job and of its run: what goes in comes out, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.running.hidden_input import (
    hide_in_job,
    hide_in_job_outputs,
    hide_in_run,
    put,
    recorded_key,
    reveal_job,
    reveal_run,
    state_names,
)
from vertex_training.fields.decode import UNKNOWN

OWN = {"display_name": "d", "base_output_directory": "gs://b/own/", "run": "a-1", "spec_hash": "v1-0"}
CHOSEN = {**OWN, "base_output_directory": "gs://b/d/a-1/", "output_path": "base_output_directory"}
INNER = {
    "trial_job_spec": {"network": "n", "base_output_directory": "gs://b/d/a-1/"},
    "run": "a-1",
    "spec_hash": "v1-0",
    "output_path": "trial_job_spec.base_output_directory",
}
HIDDEN = {"key": "a-1", "spec_hash": "v1-0"}


def test_a_directory_of_the_user_stays_visible() -> None:
    assert hide_in_job(OWN) == {
        "display_name": "d",
        "base_output_directory": "gs://b/own/",
        "__run": HIDDEN,
    }


def test_a_directory_of_the_run_is_hidden() -> None:
    inputs = hide_in_job(CHOSEN)
    chosen = {"output_path": "base_output_directory", "output_directory": "gs://b/d/a-1/"}
    assert inputs == {"display_name": "d", "__run": {**HIDDEN, **chosen}}


def test_outputs_keep_the_directory_that_programs_read() -> None:
    assert hide_in_job_outputs(CHOSEN)["base_output_directory"] == "gs://b/d/a-1/"
    assert "base_output_directory" not in hide_in_job_outputs(INNER)


def test_a_directory_inside_another_input_is_hidden_there() -> None:
    assert hide_in_job(INNER)["trial_job_spec"] == {"network": "n"}


@pytest.mark.parametrize(
    "props",
    [
        OWN,
        CHOSEN,
        INNER,
        {"run": UNKNOWN, "spec_hash": UNKNOWN},
        {**CHOSEN, "base_output_directory": UNKNOWN, "run": UNKNOWN},
    ],
    ids=["own", "chosen", "inside", "not known yet", "a directory that is not known yet"],
)
def test_a_job_reveals_what_was_hidden(props: dict[str, Any]) -> None:
    assert reveal_job(hide_in_job(props)) == props
    assert reveal_job(hide_in_job_outputs(props)) == props


@pytest.mark.parametrize("collection", [{}, {"collection": "trainingPipelines"}], ids=["job", "pipeline"])
def test_a_run_reveals_what_was_hidden(collection: dict[str, str]) -> None:
    props = {"job": "train", "spec": "v1-0", "rerun": "always", **collection}
    hidden = hide_in_run(props)
    assert set(hidden) == {"rerun", "__run"}
    assert reveal_run(hidden) == props


def test_hidden_names_are_one_name_for_the_engine() -> None:
    assert state_names(["labels", "run", "spec_hash"]) == ["labels", "__run"]


@pytest.mark.parametrize(
    ("props", "key"),
    [({"__run": {"key": "a-1"}}, "a-1"), ({"__run": {}}, None), ({"__run": "a-1"}, None), ({}, None)],
)
def test_the_recorded_key(props: dict[str, Any], key: str | None) -> None:
    assert recorded_key(props) == key


def test_nothing_is_put_into_what_is_no_object() -> None:
    assert put({"trial_job_spec": UNKNOWN}, ["trial_job_spec", "a"], "b") == {"trial_job_spec": UNKNOWN}
