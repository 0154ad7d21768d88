"""The command against two emulators, one in the place of Google Cloud; then that one is made to differ."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts.verify_google import journal, recording
from scripts.verify_google.budget import PENNIES
from scripts.verify_google.cases import CASES
from scripts.verify_google.comparison import MISSING
from scripts.verify_google.sanitising import secrets_in
from support.client.verify.pair import PROJECT, Pair
from support.client.verify.runs import Run, only, verified
from support.emulated.emulator import call

CHEAP = (
    *("missing", "refused-pools", "refused-fields", "buckets", "objects", "repository", "models", "datasets"),
    *("cancelled", "succeeds", "fails", "pipeline"),
)
CHANGED = ("missing", "buckets", "models", "cancelled")


def changed(method: str, path: str, document: Any) -> Any:
    """Change answers as a service might that differs from the emulator."""
    if method == "POST" and path.endswith("/customJobs") and "jobSpec" in document:
        document["jobSpec"]["workerPoolSpecs"][0]["diskSpec"]["bootDiskType"] = "pd-standard"
        document["satisfiesPzs"] = True
    if method == "GET" and path.endswith("/customJobs/1"):
        document["error"]["message"] = "Ask someone@example.com at 10.0.0.7"
    if path.startswith("/storage/v1/b/") and "locationType" in document:
        del document["locationType"]
    return document


@pytest.fixture(scope="module")
def same(pair: Pair) -> Run:
    """Return a run against two equal emulators."""
    return verified(pair, "same", "--budget", "1", *only(*CHEAP))


@pytest.fixture(scope="module")
def different(pair: Pair, same: Run) -> Run:
    """Return a run in which answers of Google Cloud are changed on their way."""
    with pair.front.changing(changed):
        return verified(pair, "different", "--budget", "1", *only(*CHANGED))


def test_equal_services_do_not_differ(same: Run) -> None:
    assert same.differences() == []
    assert set(same.results()) == set(CHEAP)
    assert all(word.startswith("the same") for word in same.results().values())
    assert same.code == 0


def test_every_case_recorded_answers(same: Run) -> None:
    answers = recording.read(same.folder / "answers.json")
    assert set(answers) == set(CHEAP)
    assert all(len(result.answers) >= 4 for result in answers.values())
    replica = next(one for one in answers["succeeds"].answers if one.step == "replica workerpool0-0")
    assert replica.body["env"]["VERIFY_REFERRING"] == "one-two"
    assert replica.body["argv"][:2] == ["--plain", "one"]


def test_nothing_is_left(same: Run, different: Run) -> None:
    assert same.left == ()
    assert different.left == ()
    (log,) = journal.journals(same.folder.parent)
    assert journal.read(log).creations == ()
    assert journal.read(log).ended


def test_what_was_counted_is_what_the_journal_has(same: Run) -> None:
    report = same.report
    (log,) = journal.journals(same.folder.parent)
    assert report["counted"] == pytest.approx(journal.read(log).spent, abs=1e-4)
    assert 0 < report["estimated"] < report["counted"] <= report["budget"] == 1.0


def test_answers_have_nothing_of_the_account(same: Run, different: Run) -> None:
    for run in (same, different):
        for name in ("answers.json", "report.json"):
            text = (run.folder / name).read_text()
            assert secrets_in(json.loads(text), words=(PROJECT, run.folder.name)) == []
            assert PROJECT not in text
        assert "someone@example.com" not in run.markdown


def test_differences_are_found_by_case_step_and_field(different: Run) -> None:
    found = different.differences()
    disk = "jobSpec.workerPoolSpecs[0].diskSpec.bootDiskType"
    assert ("cancelled", "create", disk, "pd-standard", "pd-ssd") in found
    assert ("cancelled", "create", "satisfiesPzs", True, MISSING) in found
    (message,) = [one for one in found if one[0] == "missing"]
    assert message[1:4] == ("get customJobs", "error.message", "Ask EMAIL at IP")
    assert {one[2] for one in found if one[0] == "buckets"} == {"locationType"}
    assert all(one[3] == MISSING for one in found if one[0] == "buckets")
    assert [one for one in found if one[0] == "models"] == []
    assert different.code == 1


def test_the_report_shows_them(different: Run) -> None:
    lines = different.markdown.splitlines()
    assert "| create | jobSpec.workerPoolSpecs[0].diskSpec.bootDiskType | pd-standard | pd-ssd |" in lines
    assert any(line.startswith("| models |") and line.endswith("| the same |") for line in lines)
    assert different.results()["cancelled"] == "3 differences"
    assert f"Report: {different.folder / 'report.md'}" in different.printed


def test_a_small_budget_runs_what_fits(pair: Pair, different: Run) -> None:
    recorded = pair.folder / "recorded" / "answers.json"
    arguments = ["--budget", "0.03", "--record", str(recorded)]
    run = verified(pair, "small", *arguments, *only("missing", "buckets", "cancelled"))
    assert set(run.results()) == {"missing", "buckets"}
    assert "cancelled" in run.report["notRun"]
    assert run.report["counted"] == pytest.approx(PENNIES)
    assert set(recording.read(recorded)) == {"missing", "buckets"}
    assert run.submissions == 0
    assert run.code == 0


def test_a_case_that_fails_on_the_emulator_is_not_paid_for(pair: Pair, different: Run) -> None:
    fault = {"method": "JobService.CreateCustomJob", "status": 500}
    assert _control(pair, "POST", fault)["number"]
    run = verified(pair, "broken", "--budget", "1", *only("fails", "buckets"))
    assert run.results() == {"fails": "not run on Google Cloud", "buckets": "the same"}
    assert run.submissions == 0
    assert run.code == 1


def test_answers_that_may_name_an_account_stay_private(pair: Pair, different: Run) -> None:
    def named(_method: str, path: str, document: Any) -> Any:
        if path.startswith("/storage/v1/b/") and "locationType" in document:
            document["encryption"] = "projects/their-project/keys/a"
        return document

    with pair.front.changing(named):
        run = verified(pair, "private", "--budget", "1", *only("buckets"))
    assert run.code == 1
    assert not (run.folder / "answers.json").exists()
    private = run.folder / "answers-private.json"
    assert private.stat().st_mode & 0o777 == 0o600
    assert "their-project" in private.read_text()
    assert "body.encryption: the name of a project" in run.printed
    assert "Do not publish this report." in run.markdown
    assert run.left == ()


def test_it_starts_an_emulator_of_its_own(pair: Pair, different: Run) -> None:
    run = verified(pair, "own", "--budget", "1", *only("missing", "objects"), own_emulator=True)
    assert run.results() == {"missing": "the same", "objects": "the same"}
    assert run.code == 0
    assert not (run.folder.parent / "emulator").exists()


def _control(pair: Pair, method: str, body: Any) -> dict[str, Any]:
    answer = call(pair.emulator.url, method, "/_local/faults", body=body, token=pair.emulator.token)
    assert answer.status == 200
    return dict(answer.json())


@pytest.mark.slow
def test_all_cases(pair: Pair) -> None:
    """Run all cases; the job that times out takes a minute, on both."""
    run = verified(pair, "all", "--budget", "1")
    assert run.differences() == []
    assert set(run.results()) == {case.name for case in CASES}
    assert run.code == 0
    assert run.left == ()
