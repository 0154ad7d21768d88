"""The command is killed at a point of a run; the next start deletes what is left, live jobs included."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from scripts.verify_google import cleanup, journal
from scripts.verify_google.journal import Journal
from scripts.verify_google.recorder import Pace
from support.client.verify.pair import PARENT, Pair
from support.client.verify.runs import only, verified
from support.emulated.emulator import call
from support.waiting import eventually

When = Literal["before", "after"]
CLEAN = ("--clean", "1")


def kill_at(pair: Pair, case: str, method: str, ending: str, when: When) -> list[str]:
    """Kill a run while a request waits, then let the request go on. Return what was left at that time."""
    skipped = 2 if case == "pipeline" else 0  # two that are refused come first
    with pair.front.hold(method, ending, when, skipped) as hold:
        process = pair.start("--budget", "1", *only(case), folder=pair.folder / case)
        try:
            reach(process, hold.reached.is_set)
            process.kill()
            process.wait()
            return pair.left()
        finally:
            end(process)


def reach(process: subprocess.Popen[str], condition: object) -> None:
    assert callable(condition)
    eventually(lambda: condition() or process.poll() is not None)
    assert process.poll() is None, process.stdout and process.stdout.read()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


POINTS = [
    pytest.param("buckets", "POST", "/storage/v1/b", "after", id="bucket created, answer lost"),
    pytest.param("cancelled", "POST", "/customJobs", "after", id="job created, answer lost"),
    pytest.param("buckets", "DELETE", "/o/a", "before", id="during the cleanup"),
    *(
        pytest.param(*each, marks=pytest.mark.slow, id=f"{each[0]}, {each[2]}, {each[3]}")
        for each in (
            ("cancelled", "POST", ":cancel", "before"),
            ("cancelled", "POST", ":cancel", "after"),
            ("tuning", "POST", "/hyperparameterTuningJobs", "after"),
            ("pipeline", "POST", "/trainingPipelines", "after"),
            ("models", "POST", "/models:upload", "after"),
            ("datasets", "POST", "/datasets", "after"),
            ("repository", "POST", "/repositories", "after"),
            ("repository", "PATCH", "-repository", "before"),
            ("objects", "POST", "/compose", "after"),
        )
    ),
]


@pytest.mark.parametrize(("case", "method", "ending", "when"), POINTS)
def test_the_next_start_deletes_what_is_left(
    pair: Pair, case: str, method: str, ending: str, when: When
) -> None:
    assert kill_at(pair, case, method, ending, when), "the kill left nothing, so the test shows nothing"
    run = verified(pair, case, *CLEAN)
    assert run.left == ()
    assert "was interrupted; deleting what it left" in run.printed
    assert run.code == 0
    again = verified(pair, case, *CLEAN)
    assert "Nothing is left of earlier runs." in again.printed
    assert again.code == 0


def test_a_request_that_arrives_after_the_kill(pair: Pair) -> None:
    folder = pair.folder / "late"
    with pair.front.hold("POST", "/customJobs", "before") as hold:
        process = pair.start("--budget", "1", *only("cancelled"), folder=folder)
        try:
            reach(process, hold.reached.is_set)
        finally:
            end(process)
        early = verified(pair, "late", *CLEAN)
        assert early.code == 1
        assert "may still create something (customJobs). Look again after" in early.printed
        assert early.left == ()
    eventually(lambda: pair.labelled("customJobs"), what=lambda: "the late request was not carried out")
    late = verified(pair, "late", *CLEAN)
    assert late.left == ()
    assert late.code == 0
    (log,) = journal.journals(folder)
    assert journal.read(log).creations == ()


def test_a_request_that_never_arrives_is_given_up(pair: Pair, tmp_path: Path) -> None:
    log = Journal.begin(
        tmp_path, run=journal.new_run(), project="my-project", location="us-central1", budget=1.0
    )
    for kind, name in (("customJobs", None), ("buckets", f"{log.path.stem}-x")):
        log.creating(kind, name)
    record = journal.read(log.path)
    at = record.creations[0].at

    def cleaned(now: float) -> cleanup.Result:
        cleaner = cleanup.Cleaner(
            endpoint=pair.front.endpoint(),
            record=journal.read(log.path),
            journal=log,
            pace=Pace(poll_seconds=0.1),
            now=lambda: now,
        )
        return cleaner.clean()

    assert [each.kind for each in cleaned(at + 1).late] == ["customJobs", "buckets"]
    assert cleaned(at + cleanup.LATE_SECONDS + 60).is_complete
    assert journal.read(log.path).creations == ()


def test_a_killed_run_and_the_next_share_a_budget(pair: Pair) -> None:
    case = only("cancelled")
    folder = pair.folder / "shared"
    with pair.front.hold("POST", "/customJobs", "after") as hold:
        process = pair.start("--budget", "0.10", *case, folder=folder)
        try:
            reach(process, hold.reached.is_set)
        finally:
            end(process)
    second = verified(pair, "shared", "--budget", "0.10", *case)
    assert "$0.06 of an interrupted run count as well." in second.printed
    assert "No case fits into $0.10" in second.printed
    assert (second.code, second.submissions, second.left) == (1, 0, ())
    larger = verified(pair, "shared", "--budget", "0.13", *case)
    assert (larger.code, larger.submissions, larger.left) == (0, 1, ())
    assert larger.report["counted"] == pytest.approx(0.1227, abs=1e-3)
    fresh = verified(pair, "shared", "--budget", "0.10", *case)
    assert (fresh.code, fresh.submissions) == (0, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cleans_up_itself(pair: Pair, number: signal.Signals) -> None:
    with pair.front.hold("POST", ":cancel", "before") as hold:
        process = pair.start("--budget", "1", *only("cancelled"), folder=pair.folder / number.name)
        try:
            reach(process, hold.reached.is_set)
            assert pair.live_jobs()
            process.send_signal(number)
            assert process.stdout is not None
            assert any("Waiting for the calls in flight" in line for line in process.stdout)
            hold.released.set()
            printed = process.stdout.read()
            process.wait()
        finally:
            end(process)
    assert process.returncode == 130
    assert "Interrupted." in printed
    assert pair.left() == []


def test_resources_of_others_stay(pair: Pair) -> None:
    """Another resource with the name of a journal's bucket, and a job without the label, are not deleted."""
    folder = pair.folder / "others"
    log = Journal.begin(
        folder, run=journal.new_run(), project="my-project", location="us-central1", budget=1.0
    )
    name = f"{log.path.stem}-taken"
    log.creating("buckets", name)
    log.creating("customJobs", None)

    def ask(method: str, path: str, body: object = None) -> int:
        return call(pair.google.url, method, path, body=body, token=pair.google.token).status

    assert ask("POST", "/storage/v1/b?project=my-project", {"name": name, "location": "us-central1"}) == 200
    dataset = {
        "displayName": "theirs",
        "metadataSchemaUri": "gs://google-cloud-aiplatform/schema/dataset/metadata/text_1.0.0.yaml",
    }
    assert ask("POST", f"{PARENT}/datasets", dataset) == 200
    log.creating("datasets", None)
    verified(pair, "others", *CLEAN)
    assert ask("GET", f"/storage/v1/b/{name}") == 200
    left = pair.left()
    assert len(left) == 2, left
    assert ask("DELETE", f"/storage/v1/b/{name}") == 204
    theirs = next(each for each in left if "datasets" in each)
    assert ask("DELETE", f"/v1/{theirs}") == 200
