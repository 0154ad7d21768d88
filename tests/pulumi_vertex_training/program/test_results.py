"""`job.completion`: typed outputs, and errors that name the resource for a key that does not exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.core.running.outcome import NOTHING
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.provider import NO_RESULTS
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.resource import TuningCompletion
from pulumi_vertex_training.kinds.training_pipeline.provider import NO_MODEL
from pulumi_vertex_training.kinds.training_pipeline.resource import PipelineCompletion
from pulumi_vertex_training.program.results import Completion, RunMetrics

ENDED = {**NOTHING, "state": "SUCCEEDED", "job": "7"}


def value(of: Callable[[Completion], Any], **results: Any) -> Any:
    """Return the value of an output that a program makes of the completion of `train`."""

    async def read() -> Any:
        metrics = RunMetrics(results.pop("metrics", {}), resource=None, label="train")
        found = pulumi.Output.from_input(0).apply(lambda _: {**ENDED, **results, "metrics": metrics})
        return await pulumi.Output.from_input(of(Completion(found, label="train"))).future()

    return asyncio.run(read())


@pytest.mark.parametrize("key", Completion.KEYS)
def test_each_key_is_an_attribute_too(key: str) -> None:
    both = value(lambda completion: [completion[key], getattr(completion, key)], metrics={"loss": 1.5})  # type: ignore[call-overload]
    assert both == [{**ENDED, "metrics": {"loss": 1.5}}[key]] * 2


def test_it_is_an_output_in_a_dictionary_and_for_apply() -> None:
    assert value(lambda completion: {"all": completion})["all"]["state"] == "SUCCEEDED"
    assert value(lambda completion: completion.apply(lambda known: known["job"] + "!")) == "7!"


def test_a_metric_is_an_output() -> None:
    assert value(lambda completion: completion.metrics["loss"], metrics={"loss": 1.5}) == 1.5
    assert value(lambda completion: completion["metrics"]["eval"]["loss"], metrics={"eval": {"loss": 2}}) == 2


def test_without_metrics_every_one_is_none() -> None:
    assert value(lambda completion: completion.metrics["loss"]) is None


@pytest.mark.parametrize(
    "asked",
    [
        lambda completion: completion.metrics["acuracy"],
        lambda completion: completion.apply(lambda known: known["metrics"]["acuracy"]),
    ],
    ids=["output", "apply"],
)
def test_a_metric_that_is_not_there_names_resource_and_keys(
    asked: Callable[[Completion], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        value(asked, metrics={"accuracy": 1, "loss": 2})
    says = (
        "completion.metrics['acuracy'] does not exist; did you mean accuracy? The keys are accuracy and loss."
        " The job is not affected: correct the program"
    )
    assert str(raised.value) == f"train: {says}"
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda one: one["stat"], "train: completion['stat'] does not exist; did you mean state"),
        (lambda one: one.stat, "train: completion.stat does not exist; did you mean state"),
        (lambda one: one.color, "train: completion.color does not exist; the keys are end_time, error, job"),
        (lambda one: one.metrics.accuracy, 'for a metric, write completion.metrics["accuracy"]'),
    ],
)
def test_a_misspelt_key_is_an_error_at_its_line(asked: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        value(asked)
    assert says in str(raised.value)


def test_the_keys_are_those_that_the_providers_return() -> None:
    assert set(Completion.KEYS) == NOTHING.keys()
    assert set(TuningCompletion.KEYS) == {*NOTHING, *NO_RESULTS}
    assert set(PipelineCompletion.KEYS) == {*NOTHING, *NO_MODEL}
