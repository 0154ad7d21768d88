"""Records of earlier runs: which ones a new run deletes, and the reasons of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs import deletion, identity
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RunKey
from pulumi_vertex_training.runs.policies.rerun import Action, code_of, decide, words_of
from support.client import rerun_page
from support.services.fake_gateway import FakeGateway
from vertex_training.fields.labels import label_problems

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
KEY = RunKey(identity="aaaa", generation=4)


def job(name: str, key: str, created: int, state: str = "SUCCEEDED") -> JobRecord:
    return JobRecord(
        name=name,
        display_name="train",
        state=JobState[f"JOB_STATE_{state}"],
        create_time=f"2026-01-0{created}T00:00:00Z",
        labels=identity.labels(key, "v1-0") if key else {},
    )


JOBS = (
    job("first", "aaaa-1", 1),
    job("live", "aaaa-2", 2, "RUNNING"),
    job("failed", "aaaa-3", 3, "FAILED"),
    job("again", "aaaa-3", 4, "CANCELLED"),
    job("now", "aaaa-4", 5),
    job("newer-copy", "aaaa-5", 6),
    job("foreign", "bbbb-1", 1),
    job("adopted", "", 1),
)


def names(records: list[JobRecord]) -> list[str]:
    return [one.name for one in records]


def test_only_ended_jobs_of_the_declaration_count() -> None:
    assert names(deletion.ended_runs(JOBS, KEY)) == ["now", "again", "failed", "first"]
    assert names(deletion.ended_runs(JOBS, KEY, without={"now"})) == ["again", "failed", "first"]


@pytest.mark.parametrize(
    ("keep", "deleted"), [(0, ["again", "failed", "first"]), (2, ["first"]), (3, []), (10, [])]
)
def test_the_oldest_are_deleted_and_a_record_that_is_gone_is_passed_over(
    keep: int, deleted: list[str]
) -> None:
    called: list[str] = []

    def listed(_: Endpoint, labels: Mapping[str, str]) -> list[JobRecord]:
        return [one for one in JOBS if labels.items() <= one.labels.items()]

    def delete(_: Endpoint, name: str) -> None:
        called.append(name)
        if name == "failed":
            raise NotFound("no such job")

    gateway: Any = FakeGateway(noun="job", list_by_label=listed, delete=delete)
    before: list[str] = []
    deletion.delete_oldest(
        gateway, ENDPOINT, KEY, keep=keep, without={"now"}, before_delete=lambda _, name: before.append(name)
    )
    assert called == before == deleted


def test_all_runs_of_a_declaration_have_one_label() -> None:
    assert {identity.labels(f"aaaa-{n}", "h")[DECLARATION_LABEL] for n in (1, 2)} == {"aaaa"}
    assert "vertex-training-reason" not in identity.labels("aaaa-1", "h")


def test_every_reason_to_run_is_a_label_and_has_words() -> None:
    runs = [
        (facts, decision)
        for facts in rerun_page.every_case()
        if (decision := decide(facts)).action is Action.RUN
    ]
    codes = {code_of(facts, decision) for facts, decision in runs}
    assert codes == {
        "first-run", "spec", "run-token", "on-demand", "gone", "interrupted", "always",
        "failed-again-1-of-2", "failed-again-2-of-2", "no-capacity-1-of-2", "no-capacity-2-of-2", "next-rung",
    }  # fmt: skip
    assert label_problems(dict.fromkeys(["a"], max(codes, key=len))) == []
    assert all(" " in words_of(code) for code in codes)
    assert words_of("failed-again-1-of-2") == "the run before failed, rerun 1 of 2"
    assert (words_of(""), words_of("of-a-newer-version")) == ("", "of-a-newer-version")
