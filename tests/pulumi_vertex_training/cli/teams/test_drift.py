"""The drift that is read from the events of a refresh, and its texts. `tests/engine` runs the real engine."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cli.teams.drift import view
from pulumi_vertex_training.cli.teams.drift.drift import Report, report
from pulumi_vertex_training.cli.teams.drift.refresh import read
from pulumi_vertex_training.registry import type_token
from support import json_schema
from vertex_training.command_line.output import Output
from vertex_training.fields import timestamps

STACK = "urn:pulumi:prod::train::"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "gcr.io/p/image:1"},
}
JOB: dict[str, Any] = {"display_name": "train", "worker_pool_specs": [POOL], "rerun": "on_change"}
NAME = "projects/p/locations/us-central1/customJobs/1"
Properties = dict[str, Any]


def urn_of(token: str, name: str) -> str:
    return f"{STACK}{token}::{name}"


def state(token: str, inputs: Properties, outputs: Properties | None = None) -> Properties:
    return {"type": token, "inputs": inputs, "outputs": {**inputs, **(outputs or {})}}


def read_resource(
    token: str, name: str, old: Properties, new: Properties | None, op: str = "update"
) -> list[Properties]:
    """Return the events of a resource that was read."""
    metadata = {"urn": urn_of(token, name), "type": token, "old": old, "new": new, "op": op}
    begun = {**metadata, "new": old, "op": "refresh"}
    return [{"resourcePreEvent": {"metadata": begun}}, {"resOutputsEvent": {"metadata": metadata}}]


def job(name: str, old: str, new: str, **inputs: Any) -> list[Properties]:
    """Return the events of a job that went from one state to another."""
    token = type_token("CustomJob")
    states = [
        state(token, {**JOB, **inputs}, {"name": NAME, "state": f"JOB_STATE_{each}"}) for each in (old, new)
    ]
    return read_resource(token, name, states[0], states[1], op="same")


BUCKET = "gcp:storage/bucket:Bucket"
GOOGLES = [
    *read_resource(
        BUCKET, "theirs", state(BUCKET, {"labels": {"a": "1"}}), state(BUCKET, {"labels": {"a": "2"}})
    ),
    *read_resource(BUCKET, "lost", state(BUCKET, {}), None, op="delete"),
    *read_resource(
        BUCKET, "served", state(BUCKET, {}, {"etag": "1"}), state(BUCKET, {}, {"etag": "2"}), op="update"
    ),
    *read_resource(
        BUCKET, "quiet", state(BUCKET, {}, {"etag": "1"}), state(BUCKET, {}, {"etag": "2"}), op="same"
    ),
    *read_resource(BUCKET, "hidden", state(BUCKET, {"key": "[secret]"}), state(BUCKET, {"key": "[secret]"})),
]


def found(*events: list[Properties]) -> Report:
    return report(read([event for each in events for event in each]))


def test_resources_of_other_providers_drift_as_their_provider_says() -> None:
    drifts = {one.name: one for one in found(GOOGLES).drifts}
    assert {name: (one.effect, one.words, one.repair) for name, one in drifts.items()} == {
        "theirs": ("changed", ("labels.a: 1 -> 2",), ("up", "--refresh")),
        "lost": ("deleted", ("it was deleted",), ("up", "--refresh")),
        "served": ("changed", ("etag: 1 -> 2",), ("refresh",)),
        "hidden": ("changed", ("a secret value differs",), ("up", "--refresh")),
    }
    assert drifts["theirs"].type == "Bucket"
    assert found(GOOGLES).unchanged == 1


def test_a_resource_that_its_provider_calls_unhealthy_has_not_drifted() -> None:
    same = state(BUCKET, {"labels": {"a": "1"}})
    result = found(read_resource(BUCKET, "unhealthy", same, same))
    assert (result.drifts, result.unchanged) == ((), 1)


@pytest.mark.parametrize("new", ["RUNNING", "SUCCEEDED", "FAILED", "EXPIRED"])
def test_a_job_that_moves_on_by_itself_has_not_drifted(new: str) -> None:
    result = found(job("train", "PENDING", new))
    assert result.drifts == ()
    assert [(one.name, one.old, one.new) for one in result.progress] == [("train", "PENDING", new)]


@pytest.mark.parametrize(
    ("rerun", "repair"),
    [
        ("on_change", ("up", "--refresh", "--replace", urn_of(type_token("CustomJob"), "train"))),
        ("on_failure", ("up", "--refresh", "--replace", urn_of(type_token("CustomJob"), "train"))),
        ("always", ("up", "--refresh")),
        ("never", ("refresh",)),
    ],
)
def test_the_policy_of_a_cancelled_job_decides_what_runs_it_again(
    rerun: str, repair: tuple[str, ...]
) -> None:
    (drift,) = found(job("train", "RUNNING", "CANCELLED", rerun=rerun)).drifts
    assert (drift.effect, drift.repair) == ("cancelled", repair)


@pytest.mark.parametrize(("seconds", "drifted"), [(590, True), (600, False)])
def test_a_job_that_its_timeout_stopped_has_moved_on_by_itself(seconds: int, drifted: bool) -> None:
    token, inputs = type_token("CustomJob"), {**JOB, "scheduling": {"timeout": "600s"}}
    began, ended = (
        timestamps.parse("2026-01-01T00:00:00Z") + timedelta(seconds=each) for each in (0, seconds)
    )
    outputs = {
        "name": NAME,
        "start_time": began.isoformat(),
        "end_time": ended.isoformat(),
        "state": "JOB_STATE_CANCELLED",
    }
    old, new = (state(token, inputs, each) for each in ({"state": "JOB_STATE_RUNNING"}, outputs))
    result = found(read_resource(token, "train", old, new, op="same"))
    assert ([one.effect for one in result.drifts], [one.new for one in result.progress]) == (
        (["cancelled"], []) if drifted else ([], ["CANCELLED"])
    )


def test_a_cancellation_that_is_recorded_has_not_drifted() -> None:
    assert found(job("train", "CANCELLED", "CANCELLED")).drifts == ()


def test_a_job_whose_declaration_differs_is_compared_pool_by_pool() -> None:
    token = type_token("CustomJob")
    live = {**JOB, "worker_pool_specs": [POOL, {**POOL, "replica_count": 4}]}
    old = state(token, {**JOB, "worker_pool_specs": [POOL, {**POOL, "replica_count": 2}]})
    (drift,) = found(read_resource(token, "train", old, state(token, live))).drifts
    assert drift.words == ("workers: 2 -> 4 x n1-standard-4; chief unchanged",)


def test_words_of_a_provider_that_the_state_has_already_are_no_drift() -> None:
    token = type_token("TrainingImage")
    known = state(token, {}, {"drift": ["the tag v1 was removed"]})
    more = state(token, {}, {"drift": ["the tag v1 was removed", "the tag v2 was removed"]})
    assert found(read_resource(token, "image", known, known, op="same")).drifts == ()
    (drift,) = found(read_resource(token, "image", known, more, op="same")).drifts
    assert drift.words == ("the tag v2 was removed",)


def test_a_resource_that_was_not_read_is_named_and_others_are_reported() -> None:
    urn = urn_of(type_token("CustomJob"), "train")
    refused: list[Properties] = [
        {"resourcePreEvent": {"metadata": {"urn": urn, "op": "refresh"}}},
        {
            "diagnosticEvent": {
                "urn": urn,
                "severity": "error",
                "message": "Preview failed: Failure: Could not read custom job 7: denied.\n\n",
            }
        },
        {"diagnosticEvent": {"severity": "error", "message": "preview failed\n"}},
    ]
    result = found(refused, GOOGLES)
    assert result.unread == ("train",)
    assert [(one.resource, one.message) for one in result.errors] == [
        ("train", "Could not read custom job 7: denied.")
    ]
    assert len(result.drifts) == 4


def test_a_folder_and_a_stack_are_part_of_the_printed_commands() -> None:
    place = view.Place(stack="prod", folder="my program")
    document = view.DriftAnswer(report=found(job("a$b", "RUNNING", "CANCELLED")), place=place).document()
    urn = urn_of(type_token("CustomJob"), "a$b")
    assert document["repair"] == f"pulumi up --refresh --replace '{urn}' --stack prod --cwd 'my program'"


@pytest.mark.parametrize("columns", [80, 100])
def test_a_terminal_wraps_everything_but_commands(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = found(GOOGLES, job("train", "RUNNING", "CANCELLED"), job("other", "RUNNING", "FAILED"))
    view.DriftAnswer(report=result, place=view.Place()).show(Output(as_json=False, terminal=True))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    commands = [line for line in lines if line.strip().startswith("pulumi ")]
    assert max(len(line.rstrip()) for line in lines if line not in commands) <= columns
    assert f"    pulumi up --refresh --replace {urn_of(type_token('CustomJob'), 'train')}" in commands
    assert lines[0].startswith("Drift of train, stack prod: 3 changed, 1 cancelled, 1 deleted, 2 unchanged")
    assert any(line.startswith("1 job moved on by itself: other (RUNNING -> FAILED)") for line in lines)


def test_a_stack_without_drift_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    view.DriftAnswer(report=found(job("train", "RUNNING", "RUNNING")), place=view.Place()).show(
        Output(as_json=False, terminal=False)
    )
    assert capsys.readouterr().out == "Drift of train, stack prod: none, 1 unchanged.\n"


def test_the_page_has_every_key() -> None:
    refused = [{"diagnosticEvent": {"severity": each, "message": "x"}} for each in ("error", "info")]
    report = found(GOOGLES, job("a", "RUNNING", "CANCELLED"), job("b", "PENDING", "FAILED"), refused)
    document = view.DriftAnswer(report=report, place=view.Place()).document()
    keys = set(document)
    for name in ("changes", "progress", "findings", "errors"):
        keys |= {f"{name}[].{key}" for one in document[name] for key in one}
    assert json_schema.keys("drift") == keys
    json_schema.check("drift", document)


def test_json_and_markdown_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", "--json", "--markdown"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--markdown"


def test_a_folder_without_a_program_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", "--cwd", str(tmp_path), "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--cwd"
