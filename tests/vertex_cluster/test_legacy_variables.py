"""The variables of AI Platform, made from those of Vertex AI."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from vertex_cluster.legacy import VARIABLE

JOB = {"scaleTier": "CUSTOM"}
CLUSTER = {
    "workerpool0": ["a:1"],
    "workerpool1": ["b:2", "c:3"],
    "workerpool2": ["d:4"],
    "workerpool3": ["e:5"],
}
LEGACY = {"master": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"]}


def environment(pool: str, index: int, *, chief: str = "master", container: bool = True) -> dict[str, str]:
    task = {"type": pool, "index": index}
    return {
        "CLUSTER_SPEC": json.dumps({"cluster": CLUSTER, "task": {**task, "trial": "2"}}),
        "TF_CONFIG": json.dumps({"cluster": {"chief": ["a:1"]}, "task": {**task, "cloud": "abc"}}),
        VARIABLE: json.dumps({"chief": chief, "container": container, "job": JOB}),
    }


def legacy(variables: dict[str, str]) -> tuple[Any, Any]:
    vertex_cluster.use_legacy_environment(variables)
    found = (json.loads(variables.get(name, "null")) for name in ("CLUSTER_SPEC", "TF_CONFIG"))
    return next(found), next(found)


def test_a_worker() -> None:
    cluster_spec, tf_config = legacy(environment("workerpool1", 1))
    task = {"type": "worker", "index": 1, "trial": "2"}
    assert cluster_spec == {"cluster": LEGACY, "task": task, "job": JOB}
    assert tf_config == {
        "cluster": LEGACY,
        "task": {**task, "cloud": "wabc-ml"},
        "job": JOB,
        "environment": "cloud",
    }


def test_the_first_replica_is_master_or_chief_in_tf_config() -> None:
    cluster_spec, tf_config = legacy(environment("workerpool0", 0, chief="chief"))
    assert cluster_spec["task"]["type"] == "master"
    assert tf_config["task"]["type"] == "chief"
    assert tf_config["cluster"] == {"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"]}


def test_a_package_and_an_evaluator_have_no_cluster_spec() -> None:
    assert legacy(environment("workerpool0", 0, container=False))[0] is None
    cluster_spec, tf_config = legacy(environment("workerpool3", 0))
    assert cluster_spec is None
    assert tf_config["task"]["type"] == "evaluator"
    assert tf_config["cluster"] == LEGACY


def test_a_job_of_one_replica_has_both() -> None:
    variables = {VARIABLE: json.dumps({"chief": "master"})}
    cluster_spec, tf_config = legacy(variables)
    assert cluster_spec["task"] == {"type": "master", "index": 0} == tf_config["task"]


@pytest.mark.parametrize("pool", ["workerpool0", "workerpool2", "workerpool3"])
def test_a_second_time_changes_nothing(pool: str) -> None:
    variables = environment(pool, 0)
    assert legacy(variables) == legacy(variables)


def test_nothing_changes_without_the_variable() -> None:
    assert vertex_cluster.legacy_variables({"CLUSTER_SPEC": "{}"}) == {}


@pytest.mark.parametrize("text", ["[]", "{"])
def test_a_variable_that_cannot_be_read(text: str) -> None:
    with pytest.raises(vertex_cluster.ClusterError, match="is not a JSON object"):
        vertex_cluster.legacy_variables({VARIABLE: text})


def test_a_program_can_be_started_with_it() -> None:
    words = [sys.executable, "-m", "vertex_cluster.legacy"]
    program = ["python3", "-c", "import os, sys; print(sys.argv[1:], os.environ['TF_CONFIG'][:20])", "x"]
    variables = {**environment("workerpool1", 0), "PYTHONPATH": str(Path(vertex_cluster.__file__).parents[1])}
    run = subprocess.run([*words, *program], env=variables, capture_output=True, text=True, check=True)
    assert run.stdout == """['x'] {"cluster": {"master\n"""
    none = subprocess.run(words, env=variables, capture_output=True, text=True)
    assert none.returncode == 1
    assert "Give the program" in none.stderr
