"""The evaluator scores all checkpoints, of this job only, and ends on SIGTERM."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import numpy as np
import pytest

from digits.replicas import Job, NewJob
from support.waiting import eventually


def results(job: Job, name: str = "evaluation.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (job.checkpoint_dir / name).read_text().splitlines()]


def test_every_checkpoint_is_scored(new_job: NewJob) -> None:
    job = new_job(workers=2, evaluators=1)
    chief, *_, evaluator = job.run("--epochs=6")
    assert [result["epoch"] for result in results(job)] == [1, 2, 3, 4, 5, 6]
    by_chief = re.findall(r"^epoch \d/6 loss [\d.]+ accuracy ([\d.]+)$", chief.output(), re.MULTILINE)
    assert [f"{result['accuracy']:.3f}" for result in results(job)] == by_chief
    metrics = json.loads((job.model_dir / "metrics.json").read_text())
    assert (results(job)[-1]["loss"], results(job)[-1]["accuracy"]) == (metrics["loss"], metrics["accuracy"])
    assert "the evaluator has scored the last checkpoint" in chief.output()
    scored = re.findall(
        r"^checkpoint (\d)/6 held-out loss [\d.]+ accuracy [\d.]+$", evaluator.output(), re.MULTILINE
    )
    assert scored == ["1", "2", "3", "4", "5", "6"]


def test_the_chief_waits_for_a_late_evaluator(new_job: NewJob) -> None:
    job = new_job(evaluators=1)
    chief = job.start(0, 0, "--epochs=2")
    chief.wait_for("saved the model")
    assert chief.process.poll() is None
    evaluator = job.start(3, 0, "--epochs=2")
    assert (evaluator.wait(), chief.wait()) == (0, 0)
    assert [result["epoch"] for result in results(job)] == [1, 2]


def test_the_chief_does_not_wait_for_ever(new_job: NewJob) -> None:
    job = new_job(evaluators=1)
    chief = job.start(0, 0, "--epochs=1", "--evaluator-wait=0.5")
    assert chief.wait() == 0
    assert chief.output().endswith("the evaluator has not scored the last checkpoint within 0.5 s\n")


def test_checkpoints_of_another_job_are_not_scored(new_job: NewJob) -> None:
    from digits_trainer.model import Network
    from digits_trainer.storage import Checkpoint, save_checkpoint

    job = new_job(evaluators=1)
    for epoch in (1, 2, 3):
        save_checkpoint(job.checkpoint_dir, Checkpoint("00" * 32, epoch, np.zeros(Network(hidden=64).size)))
    (job.checkpoint_dir / "evaluation.jsonl").write_text(
        '{"epoch": 3, "loss": 1, "accuracy": 0, "checkpoint": "x", "job": "other"}\nnot ours\n'
    )
    evaluator = job.start(3, 0, "--epochs=3")
    evaluator.wait_for("evaluating the checkpoints")
    time.sleep(0.5)
    chief = job.start(0, 0, "--epochs=3")
    assert (chief.wait(), evaluator.wait()) == (0, 0), (chief.errors(), evaluator.errors())
    assert [result["epoch"] for result in results(job)] == [1, 2, 3]
    assert len({result["job"] for result in results(job)} - {"00" * 32, "other"}) == 1
    assert min(result["accuracy"] for result in results(job)) > 0.5


def test_two_evaluators_write_to_separate_files(new_job: NewJob) -> None:
    job = new_job(evaluators=2)
    job.run("--epochs=2")
    assert results(job) == results(job, "evaluation-1.jsonl")


@pytest.mark.parametrize("folder_exists", [True, False])
def test_sigterm_ends_with_success(new_job: NewJob, folder_exists: bool) -> None:
    job = new_job(evaluators=1)
    if folder_exists:
        job.checkpoint_dir.mkdir()
    evaluator = job.start(3)
    evaluator.wait_for("evaluating the checkpoints")

    def has_ended() -> bool:
        evaluator.process.terminate()  # a second signal makes no difference at any time
        return evaluator.process.poll() is not None

    eventually(has_ended, every=0.001)
    assert evaluator.wait() == 0
    assert evaluator.output().endswith("\nstopped by SIGTERM\n")
    assert evaluator.errors() == ""


def test_without_a_checkpoint_folder(new_job: NewJob) -> None:
    job = new_job(evaluators=1)
    evaluator = job.start(3, environment={"AIP_CHECKPOINT_DIR": ""})
    assert evaluator.wait() == 2
    assert evaluator.errors() == (
        "error: The evaluator has no checkpoints to read. Give --checkpoint-dir or AIP_CHECKPOINT_DIR.\n"
    )


def test_a_network_that_differs_from_the_trainers(new_job: NewJob) -> None:
    job = new_job(evaluators=1)
    assert job.start(0, 0, "--epochs=1", "--hidden=8", "--evaluator-wait=0.1").wait() == 0
    evaluator = job.start(3, 0, "--epochs=1")
    assert evaluator.wait() == 2
    path = job.checkpoint_dir / "checkpoint-0001.npz"
    assert (
        evaluator.errors()
        == f"error: {path} is of another network. Give all worker pools the same --hidden.\n"
    )


def test_a_file_that_is_not_a_checkpoint(new_job: NewJob) -> None:
    job = new_job(evaluators=1)
    job.checkpoint_dir.mkdir()
    path = job.checkpoint_dir / "checkpoint-0001.npz"
    path.write_bytes(b"PK\x03\x04 half a file")
    evaluator = job.start(3)
    assert evaluator.wait() == 2
    assert evaluator.errors().startswith(f"error: {path} is not a checkpoint of this program: ")
    assert len(evaluator.errors().splitlines()) == 1
