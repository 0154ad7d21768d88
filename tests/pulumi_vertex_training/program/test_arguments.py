"""Findings about a job's own arguments are reported in the program, all at once."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training import CustomJob, HyperparameterTuningJob, TrainingPipeline
from pulumi_vertex_training.kinds.custom_job.args import JobOptions
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.args import TrialJobSpecArgs
from pulumi_vertex_training.program.arguments.run_options import RunOptions, WaitPolicy, wait_findings
from support.tables import every_row
from vertex_training.job.job_spec import JobSpec

POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"},
}


def refusal(**arguments: Any) -> str:
    with pytest.raises(pulumi.RunError) as raised:
        CustomJob("train", worker_pool_specs=[POOL], project="local", location="us-central1", **arguments)
    return str(raised.value)


@every_row(
    ("arguments", "says"),
    [
        ({"wait_timeout": "1h"}, "wait_timeout is '1h'; it must be a number of seconds from 0"),
        ({"wait_timeout": -1}, "wait_timeout is -1;"),
        ({"wait_timeout": float("nan")}, "wait_timeout is nan;"),
        ({"wait_timeout": True}, "wait_timeout is True;"),
        ({"wait_timeout": None}, "wait_timeout is None;"),
        ({"wait": "finished"}, "wait is 'finished'; it must be 'none', 'running' or 'done'"),
        ({"wait": []}, "wait is [];"),
        ({"on_interrupt": "stop"}, "on_interrupt is 'stop'; it must be 'leave' or 'cancel'"),
        ({"on_interrupt": True}, "on_interrupt is True;"),
        ({"stream_logs": "yes"}, "stream_logs is 'yes'; it must be True or False"),
        ({"rerun_limit": "2"}, "rerun_limit is '2'; it must be a whole number, 0 or more"),
        ({"rerun_limit": 1.5}, "rerun_limit is 1.5;"),
        ({"protect_running": 1}, "protect_running is 1; it must be True or False"),
        ({"taking_over": "0-1"}, "taking_over is given without adopt"),
        ({"onInterrupt": "cancel"}, "onInterrupt: unknown argument; did you mean on_interrupt?"),
        ({"persistent_resource": "gpus"}, "persistent_resource is 'gpus', but must be a Persist"),
        ({"rerun_limits": 3}, "rerun_limits: unknown argument; did you mean rerun_limit?"),
    ],
    ids=str,
)
def test_an_argument_is_checked(arguments: dict[str, Any], says: str) -> None:
    said = refusal(**arguments)
    assert said.startswith("train: ")
    assert says in said
    assert "\n" not in said


def test_unknown_policies_are_refused_all_at_once() -> None:
    said = refusal(rerun="sometimes", rerun_limit=-1, on_delete="keep")
    for text in (
        "rerun is 'sometimes'; it must be 'on_change', 'on_failure', 'always' or 'never'",
        "rerun_limit is -1; it must be a whole number, 0 or more",
        "on_delete is 'keep'; it must be 'delete' or 'cancel'",
    ):
        assert text in said


@pytest.mark.parametrize(
    ("declare", "place"),
    [
        (
            lambda **more: HyperparameterTuningJob(
                "train",
                study_spec={},
                max_trial_count=1,
                parallel_trial_count=1,
                trial_job_spec={},
                **more,
            ),
            "trial_job_spec",
        ),
        (
            lambda **more: TrainingPipeline("train", custom_task={}, **more),
            "custom_task or tuning_task.trial_job_spec",
        ),
    ],
    ids=["a tuning job", "a pipeline"],
)
@pytest.mark.parametrize("name", ["worker_pool_specs", "base_output_directory"])
def test_what_belongs_to_the_job_that_is_run_is_sent_there(
    declare: Callable[..., Any], place: str, name: str
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        declare(**{name: []})
    first, *others = str(raised.value).splitlines()
    assert first == f"train: {name}: unknown argument; it belongs in {place}"
    # The faults of the rest come with it, each with its path.
    assert any("worker_pool_specs: is missing; it is required" in line for line in others)


def test_all_of_it_is_said_at_once() -> None:
    said = refusal(wait="forever", on_interrupt=1, stream_logs=0, rerun="x", colour="red").split("\n")
    assert [line.split()[1].rstrip(":") for line in said] == [
        "colour",
        "wait",
        "on_interrupt",
        "stream_logs",
        "rerun",
    ]


@pytest.mark.parametrize("timeout", [0, 0.5, 10**9, float("inf")])
def test_any_number_of_seconds_is_a_timeout(timeout: float) -> None:
    policy = WaitPolicy(until="done", timeout=timeout, on_interrupt="cancel", stream_logs=True)
    assert not any(wait_findings(policy))
    assert policy.cancels


@every_row("resource", [CustomJob, HyperparameterTuningJob, TrainingPipeline])
@every_row("option", dataclasses.fields(RunOptions), ids=lambda item: item.name)
def test_an_option_is_one_of_every_kind_with_the_same_default(
    resource: type, option: dataclasses.Field[Any]
) -> None:
    assert inspect.signature(resource).parameters[option.name].default == option.default


@every_row("resource", [HyperparameterTuningJob, TrainingPipeline])
@every_row("option", [item.name for item in dataclasses.fields(RunOptions)])
def test_an_option_has_the_type_that_it_has_in_a_custom_job(resource: type, option: str) -> None:
    of_job = inspect.signature(CustomJob).parameters[option]
    assert inspect.signature(resource).parameters[option].annotation == of_job.annotation


JOB_SPEC_FIELDS = {item.name for item in dataclasses.fields(JobSpec)}


@every_row("taker", [CustomJob, TrialJobSpecArgs])
def test_a_job_takes_every_field_of_its_spec(taker: type) -> None:
    assert set(inspect.signature(taker).parameters) >= JOB_SPEC_FIELDS


def test_a_component_hands_on_every_option_of_a_job() -> None:
    taken = set(inspect.signature(CustomJob).parameters) - {"resource_name", "worker_pool_specs", "more"}
    assert taken - set(JobOptions.__annotations__) == {"project", "location", "opts"}
    assert set(JobOptions.__annotations__) <= taken
