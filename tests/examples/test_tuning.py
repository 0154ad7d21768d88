"""A tuning job whose trials train on two replicas each: the best trial is the one with the most accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from support.client.examples.example import NewExample

pytestmark = [
    # trials and metrics: tests/engine/kinds/test_tuning_jobs.py, tests/vertex_emulator/jobs/tuning
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # the first deployment fetches and installs packages
]

TRIALS = 3


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A tuning job to its end."""

    outputs: dict[str, Any]
    trials: list[dict[str, Any]]
    ranks: dict[str, list[str]]
    model: bytes


@pytest.fixture(scope="module")
def steps(example: NewExample) -> Steps:
    made = example("tuning")
    made.set("trials", str(TRIALS))
    made.up().ok()
    outputs = made.outputs()
    endpoint = made.endpoint()
    (search,) = tuning_jobs.GATEWAY.list_jobs(endpoint)
    trials = list(search.wire["trials"])
    ranks = {trial["id"]: made.lines(trial["customJob"], "trained ", 2) for trial in trials}
    bucket, _, folder = outputs["model"].removeprefix("gs://").partition("/")
    model = objects.read(endpoint, bucket, str(Path(folder) / "model.json"))
    return Steps(outputs=outputs, trials=trials, ranks=ranks, model=model)


def test_every_trial_trains_on_two_replicas(steps: Steps) -> None:
    assert len(steps.ranks) == TRIALS
    assert all(sorted(ranks) == ["0 2", "1 2"] for ranks in steps.ranks.values())


def test_the_chief_reports_while_it_trains(steps: Steps) -> None:
    assert {trial["state"] for trial in steps.trials} == {"SUCCEEDED"}
    assert all(trial["finalMeasurement"]["stepCount"] == "15" for trial in steps.trials)
    for trial in steps.trials:
        assert [each["stepCount"] for each in trial["measurements"]] == ["5", "10", "15"]


def test_the_best_trial_has_the_most_accuracy(steps: Steps) -> None:
    accuracies = [trial["finalMeasurement"]["metrics"][0]["value"] for trial in steps.trials]
    best = [
        {each["parameterId"]: each["value"] for each in trial["parameters"]}
        for trial, accuracy in zip(steps.trials, accuracies, strict=True)
        if accuracy == max(accuracies)
    ]
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.outputs["accuracy"] == max(accuracies) > 0.7
    assert steps.outputs["parameters"] in best


def test_its_model_is_saved(steps: Steps) -> None:
    assert b"learner" in steps.model
