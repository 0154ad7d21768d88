"""`diff` of tuning jobs and training pipelines."""

from __future__ import annotations

from typing import Any

import pytest

from support.specs.explained_kinds import (
    CONFIG,
    JOB,
    PIPELINE,
    TUNING,
    Document,
    Run,
    changed,
    printed,
    snake,
)

CHANGES: list[tuple[str, Document, str, Any, str, list[Any], str]] = [
    (
        "a bound of a parameter",
        TUNING,
        "studySpec.parameters.0.doubleValueSpec.maxValue",
        0.5,
        "study_spec.parameters[0].double_value_spec.max_value",
        [0.1, 0.5],
        "max value of rate: 0.1 -> 0.5; the tuning job is replaced, because a study cannot change once a "
        "tuning job has it",
    ),
    (
        "the number of trials",
        TUNING,
        "maxTrialCount",
        9,
        "max_trial_count",
        [6, 9],
        "max trial count: 6 -> 9; the tuning job is replaced, because the number of trials of a tuning job "
        "cannot change once it exists",
    ),
    (
        "the workers of a trial",
        TUNING,
        "trialJobSpec.workerPoolSpecs.1.replicaCount",
        4,
        "trial_job_spec.worker_pool_specs[1].replica_count",
        [2, 4],
        "workers: 2 -> 4 x n1-standard-4; chief unchanged; the tuning job is replaced, because worker pools "
        "cannot change once a tuning job exists",
    ),
    (
        "the workers of a pipeline",
        PIPELINE,
        "trainingTaskInputs.workerPoolSpecs.1.replicaCount",
        4,
        "training_task_inputs.worker_pool_specs[1].replica_count",
        [2, 4],
        "workers: 2 -> 4 x n1-standard-4; chief unchanged; the pipeline is replaced, because worker pools "
        "cannot change once a pipeline exists",
    ),
    (
        "the data of a pipeline",
        PIPELINE,
        "inputDataConfig.datasetId",
        "124",
        "input_data_config.dataset_id",
        ["123", "124"],
        "dataset id: 123 -> 124; the pipeline is replaced, because the data of a pipeline cannot change once "
        "it exists",
    ),
]


@pytest.mark.parametrize(
    ("document", "where", "value", "path", "values", "words"),
    [each[1:] for each in CHANGES],
    ids=[each[0] for each in CHANGES],
)
def test_a_change(
    command: Run, document: Document, where: str, value: Any, path: str, values: list[Any], words: str
) -> None:
    other = changed(document, where, value)
    found = printed(command, "diff", document, other)
    fields = [field for pool in found["pools"] for field in pool["fields"]] + found["fields"]
    assert fields == [{"path": path, "old": values[0], "new": values[1]}]
    assert (found["effect"], found["words"]) == ("replace", words)
    assert command("diff", document, other, "--exit-code")[0] == 1


SAME: list[tuple[str, Document, Document]] = [
    ("spelling", TUNING, snake(TUNING)),
    ("a program's names of the task", changed(PIPELINE, "modelId", "digits"), PIPELINE),
    ("what the service fills in", TUNING, {**TUNING, "state": "JOB_STATE_RUNNING", "trials": []}),
    ("our own labels", TUNING, {**TUNING, "state": "x", "labels": {"vertex-training-run": "a-1"}}),
    (
        "what the service fills into a pipeline",
        changed(PIPELINE, "modelId", None),
        {**PIPELINE, "state": "PIPELINE_STATE_RUNNING"},
    ),
    ("a name that only one has", CONFIG, TUNING),
]


@pytest.mark.parametrize(("one", "other"), [each[1:] for each in SAME], ids=[each[0] for each in SAME])
def test_no_difference(command: Run, one: Document, other: Document) -> None:
    for old, new in ((one, other), (other, one)):
        assert printed(command, "diff", old, new)["effect"] == "none"
        assert command("diff", old, new)[1].splitlines()[0] == "No differences."


def test_what_one_leaves_to_gcloud_is_said(command: Run) -> None:
    assert printed(command, "diff", CONFIG, TUNING)["compared"]["unsaid"] == [
        "display_name",
        "max_trial_count",
        "parallel_trial_count",
    ]
    assert (
        "Not compared: display_name, max_trial_count and parallel_trial_count"
        in command("diff", CONFIG, TUNING)[1]
    )
    assert printed(command, "diff", CONFIG, CONFIG)["compared"]["unsaid"] == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            TUNING,
            PIPELINE,
            "this is a training pipeline, but OLD is a tuning job; compare two documents of the same kind",
        ),
        (
            TUNING,
            JOB,
            "this is a custom job, but OLD is a tuning job; compare two documents of the same kind",
        ),
    ],
    ids=["tuning and pipeline", "tuning and job"],
)
def test_two_kinds_have_no_difference(command: Run, old: Document, new: Document, words: str) -> None:
    code, out, err = command("diff", old, new)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: 1.json: {words}")
    found = printed(command, "diff", old, new)
    assert found["kind"] is found["effect"] is None
    (error,) = found["errors"]
    assert (error["file"], error["path"]) == ("1.json", "")


def test_an_old_one_that_broke_a_rule_is_compared(command: Run) -> None:
    found = printed(command, "diff", changed(TUNING, "parallelTrialCount", 9), TUNING)
    assert found["fields"] == [{"path": "parallel_trial_count", "old": 9, "new": 2}]
    assert [(each["file"], each["rule"]) for each in found["warnings"]] == [("0.json", "parallel-trials")]
