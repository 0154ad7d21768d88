"""The output of `gc`, as text and as JSON with every key of its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cli.gc.candidates import Decision, KnownStack, Status
from pulumi_vertex_training.cli.gc.checkpoints import Lineage
from pulumi_vertex_training.cli.gc.findings import (
    Finding,
    JobFinding,
    LineageFinding,
    ObjectFinding,
    PersistentFinding,
)
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName
from pulumi_vertex_training.cli.gc.sweep import Outcome
from pulumi_vertex_training.cli.gc.view import Report
from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.runs.persistent import PersistentRecord
from support import json_schema
from vertex_training.command_line.answer import render
from vertex_training.command_line.output import Output

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")


def job(number: int, status: Status, outcome: Outcome | None = None, **labels: str) -> JobFinding:
    record = JobRecord(
        name=f"projects/42/locations/us-central1/customJobs/{number}",
        display_name="train",
        state=JobState.JOB_STATE_RUNNING,
        create_time="2026-01-01T00:00:00Z",
        labels={"vertex-training-run": "feed-1", **labels},
    )
    return JobFinding(record=record, decision=Decision(status=status, reason="because"), outcome=outcome)


def persistent(
    name: str, status: Status, state: str = "", outcome: Outcome | None = None
) -> PersistentFinding:
    record = PersistentRecord(
        name=f"projects/42/locations/us-central1/{name}",
        display_name="",
        state=state,
        create_time="2026-01-01T00:00:00Z",
        labels=MARKS,
    )
    decision = Decision(status=status, reason="because")
    return PersistentFinding(record=record, decision=decision, outcome=outcome)


def staged(status: Status, outcome: Outcome | None = None) -> ObjectFinding:
    return ObjectFinding(
        record=ObjectRecord(bucket="b", name="data/00/a", size=7, generation=1),
        decision=Decision(status=status, reason="because"),
        outcome=outcome,
    )


MARKS = {"pulumi-project": "digits", "pulumi-stack": "prod", "pulumi-resource": "train"}
FOUND: tuple[Finding, ...] = (
    job(1, Status.KNOWN),
    job(2, Status.UNPROVEN),
    job(3, Status.ORPHAN, **MARKS),
    job(4, Status.KEPT),
    persistent("models/digits", Status.UNPROVEN),
    persistent("persistentResources/gpus", Status.KEPT, "RUNNING"),
    staged(Status.ORPHAN),
)
REPORT = Report(
    endpoint=ENDPOINT,
    project="digits",
    backends=("file:///a",),
    stacks=(
        KnownStack(
            name=StackName(backend="file:///a", project="digits", stack="prod", organization="organization"),
            now=NOTHING,
            past=NOTHING,
        ),
        KnownStack(
            name=StackName(backend="file:///a", project="digits", stack="gone"), now=None, past=NOTHING
        ),
    ),
    findings=FOUND,
    chosen=frozenset({FOUND[2].name, FOUND[6].name}),
    asked_to_delete=False,
)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(report: Report, *, as_json: bool = False, terminal: bool = False) -> tuple[str, str]:
        render(report, Output(as_json=as_json, terminal=terminal))
        captured = capsys.readouterr()
        return captured.out, captured.err

    return run


def test_orphans_come_first_and_what_is_known_is_counted(printed: Any) -> None:
    out, err = printed(REPORT)
    first = [line.split()[0] for line in out.splitlines() if line]
    assert first == ["JOB", "3", "4", "2", "RESOURCE", "gpus", "digits", "STAGED", "gs://b/data/00/a"]
    assert out.count("digits/prod/train") == 3
    rows = {line.split()[0]: line for line in out.splitlines() if line}
    assert re.match(r"gpus +persistent resource +RUNNING +20", rows["gpus"])
    assert re.match(r"digits +model +- +20", rows["digits"])
    assert err.splitlines()[:2] == [
        f"2 orphans, 2 kept, 2 unproven; 1 known to 1 stack in file:///a ({ENDPOINT}).",
        "Nothing was deleted. --yes deletes 2 resources.",
    ]


def test_no_orphans(printed: Any) -> None:
    out, err = printed(replace(REPORT, findings=FOUND[:1], chosen=frozenset()))
    assert out == ""
    assert err.startswith("No orphans of project digits; 1 known to 1 stack in file:///a (")


def test_a_table_that_has_nothing_to_show_is_left_out(printed: Any) -> None:
    out, err = printed(replace(REPORT, findings=FOUND[4:5], chosen=frozenset()))
    assert [line.split()[0] for line in out.splitlines()] == ["RESOURCE", "digits"]
    assert "`vertex-training gc --yes NAME`" in err


def test_the_summary_of_a_deletion(printed: Any) -> None:
    findings = (
        job(3, Status.ORPHAN, Outcome(words="deleted", deleted=True)),
        job(4, Status.ORPHAN, Outcome(words="skipped: a stack has it")),
        job(5, Status.ORPHAN, Outcome(words="no answer", failed=True)),
    )
    out, err = printed(replace(REPORT, findings=findings, asked_to_delete=True))
    assert "skipped: a stack has it" in out
    assert "Deleted 1, skipped 1, failed 1: run the same command again." in err


def test_nothing_that_is_proven(printed: Any) -> None:
    _, err = printed(replace(REPORT, findings=FOUND[1:2], chosen=frozenset(), asked_to_delete=True))
    assert "Nothing was deleted: no resource is a proven orphan." in err
    assert "Name that backend with --backend URL" in err


def test_a_terminal_gets_the_same_table(printed: Any) -> None:
    out, _ = printed(REPORT, terminal=True)
    assert all(word in re.sub(r"\x1b\[[0-9;]*m", "", out) for word in ("orphan", "gs://b/data/00/a"))


def paths(value: Any, known: set[str], path: str = "") -> Iterator[str]:
    """Yield the paths of the keys, except below a key for which the schema has no keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}".lstrip(".")
            yield here
            if any(each.startswith((f"{here}.", f"{here}[].")) for each in known):
                yield from paths(item, known, here)
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, known, f"{path}[]")


def test_the_page_has_every_key_of_gc(printed: Any) -> None:
    lineage = LineageFinding(
        record=Lineage(uri="gs://b/train/checkpoints/0123456789abcdef-1/", size=7),
        decision=Decision(status=Status.UNPROVEN, reason="because"),
    )
    out, err = printed(replace(REPORT, findings=(*FOUND, lineage)), as_json=True)
    assert err == ""
    document = json.loads(out)
    assert set(paths(document, json_schema.keys("gc"))) == json_schema.keys("gc")
    json_schema.check("gc", document)
    assert [(one["kind"], one["state"]) for one in document["resources"]] == [
        ("persistent resource", "RUNNING"),
        ("model", None),
    ]
    assert [one["name"] for one in document["backends"][0]["stacks"]] == ["organization/digits/prod"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gc", "--backend"], "expected one argument"),
        (["gc", "--project-name", "x"], "has no option '--project-name"),
        (["gc", "--endpoint", "google", "--yes"], "No Google Cloud project is given"),
    ],
    ids=" ".join,
)
def test_bad_usage(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    assert main(words) == 2
    assert message in capsys.readouterr().err
