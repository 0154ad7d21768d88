"""The job that a name stands for, in the folder of a stack and outside of one, for each command with JOB."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.runs import identity
from support.emulated.command import environment, run_on_terminal
from support.scripted_service import Answer, Asked, Service, as_emulator, refusal
from support.tables import not_empty

PARENT = "projects/7/locations/us-central1"
COLLECTIONS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines")


def job(
    number: int,
    name: str,
    state: str,
    stack: str = "",
    *,
    resource: str = "",
    key: str = "",
    collection: str = "customJobs",
) -> dict[str, Any]:
    """Return a job; `stack` is PROJECT/STACK, "" for a job that no stack made."""
    labels = {}
    if stack:
        project, _, short = stack.partition("/")
        owner = {"pulumi-project": project, "pulumi-stack": short, "pulumi-resource": resource or name}
        labels = {**identity.labels(key or f"{number:016}-1", "v1-0"), **owner}
    return {
        "name": f"{PARENT}/{collection}/{number}",
        "displayName": name,
        "state": f"JOB_STATE_{state}",
        "createTime": f"2026-01-01T00:00:{number % 60:02}Z",
        "labels": labels,
        "jobSpec": {"workerPoolSpecs": []},
    }


JOBS = [
    job(1, "train", "SUCCEEDED", "digits/dev"),
    job(2, "train", "RUNNING", "digits/prod"),
    job(3, "train", "RUNNING", "other/dev"),
    job(4, "mxnet-nets", "RUNNING", "digits/dev", resource="mxnet"),
    job(5, "score", "RUNNING", "digits/prod"),
    job(6, "score", "SUCCEEDED"),
    job(7, "of-nobody", "RUNNING"),
    job(8, "twice", "RUNNING"),
    job(9, "twice", "SUCCEEDED"),
    job(10, "pair", "SUCCEEDED"),
    job(11, "pair", "SUCCEEDED"),
    job(12, "kinds", "RUNNING", "digits/dev"),
    job(13, "kinds", "RUNNING", "digits/dev", collection="hyperparameterTuningJobs"),
    job(14, "eval", "SUCCEEDED", "digits/dev", key="aaaa-1"),
    job(15, "eval", "RUNNING", "digits/dev", key="aaaa-2"),
    job(16, "shared", "SUCCEEDED", "digits/dev", key="bbbb-1"),
    job(17, "shared", "RUNNING", "digits/dev", key="cccc-1"),
    job(18, "only", "RUNNING", "digits/prod"),
]


class Vertex:
    """The calls for jobs that a name needs, with the filters of the command."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        last = asked.path.rpartition("/")[2]
        if last.endswith(":cancel"):
            self.cancelled.append(last.removesuffix(":cancel"))
            return Answer(document={})
        if last in COLLECTIONS:
            (text,) = asked.query.get("filter", [""])
            found = [one for one in JOBS if f"/{last}/" in one["name"] and self._matches(one, text)]
            return Answer(document={last: found})
        if asked.path.endswith("entries:list"):
            return Answer(document={})
        found = [one for one in JOBS if asked.path.endswith(one["name"].partition(PARENT)[2])]
        return Answer(document=found[0]) if found else refusal(404, "NOT_FOUND", "no")

    @staticmethod
    def _matches(one: dict[str, Any], text: str) -> bool:
        if name := re.fullmatch(r'display_name="(.*)"', text):
            return bool(one["displayName"] == name[1])
        if label := re.fullmatch(r'labels\.([\w-]+)="(.*)"', text):
            return bool(one["labels"].get(label[1]) == label[2])
        return True


@dataclass(frozen=True, kw_only=True)
class Place:
    """A working directory and the command in it."""

    vertex: Vertex
    project: Path
    outside: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def at(self, stack: str = "") -> Place:
        """Move to the folder of the project digits with a selected stack, or out of any project."""
        self.monkeypatch.chdir(self.project if stack else self.outside)
        if stack:
            self.monkeypatch.setenv("PULUMI_STACK", stack)
        else:
            self.monkeypatch.delenv("PULUMI_STACK", raising=False)
        return self

    def __call__(self, *words: str) -> str:
        """Return the output of a command that succeeds."""
        code = main(words)
        captured = self.capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    def refused(self, *words: str) -> str:
        assert main(words) == 2
        return self.capsys.readouterr().err

    def found(self, name: str, *words: str) -> str:
        """Return the id of the job that `status` finds."""
        return str(json.loads(self("status", name, "--json", *words))["id"])


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    with as_emulator(monkeypatch, tmp_path) as made:
        yield made


@pytest.fixture
def place(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    vertex = Vertex()
    service.script(vertex)
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / "Pulumi.yaml").write_text("name: digits\nruntime: python\n")
    return Place(vertex=vertex, project=project, outside=outside, monkeypatch=monkeypatch, capsys=capsys)


def test_a_name_is_first_a_job_of_the_selected_stack(place: Place) -> None:
    place.at("dev")
    assert place.found("train") == "1"  # also while the jobs of other stacks run
    assert place.found("mxnet") == "4"  # a resource with another display name
    assert place.found("mxnet-nets") == "4"
    assert place.found("eval") == "15"  # its live run
    assert place.found("score") == "6"  # not of the stack, but of no other stack either
    assert place.found("of-nobody") == "7"
    assert place.at("prod").found("train") == "2"
    assert place.found("5") == "5"
    assert place.found(f"{PARENT}/customJobs/3") == "3"


def test_a_job_of_another_stack_is_named_with_its_stack(place: Place) -> None:
    place.at("dev")
    assert place.found("digits/prod/train") == "2"
    assert place.found("acme/other/dev/train") == "3"  # with the organization
    assert place.found("train", "--stack", "prod") == "2"  # a stack of this project
    assert place.found("train", "--stack", "other/dev") == "3"
    assert place.found("2") == "2"
    refused = place.refused("logs", "only", "--task", "service")
    assert refused.startswith("error: Stack digits/dev has no job 'only'. To pick one, run its command:\n")
    assert refused.rstrip().endswith("vertex-training logs digits/prod/only --task service")
    assert "Stack digits/prd has no job 'train'" in place.refused("status", "digits/prd/train")
    assert "Name the stack once" in place.refused("status", "digits/prod/train", "--stack", "other/dev")
    for text in ("prod/train", "a//train", "/train", "a/b/", "projects/p/jobs/1"):
        assert f"{text!r} is not a job name" in place.refused("status", text)


def test_the_jobs_that_a_name_may_mean_are_listed_with_their_commands(place: Place) -> None:
    refused = place.at().refused("status", "train", "--show-secrets")
    assert refused.startswith("error: 3 resources are named 'train'. To pick one, run its command:\n")
    rows = [re.split(r"  +", line.strip()) for line in refused.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ("digits/dev", "custom job", "SUCCEEDED", "vertex-training status digits/dev/train --show-secrets"),
        ("digits/prod", "custom job", "RUNNING", "vertex-training status digits/prod/train --show-secrets"),
        ("other/dev", "custom job", "RUNNING", "vertex-training status other/dev/train --show-secrets"),
    ]
    assert all(re.fullmatch(r"\d+d\d\dh old", row[3]) for row in not_empty(rows))
    kinds = place.at("dev").refused("status", "kinds")
    assert "vertex-training status 12\n" in kinds
    assert "vertex-training status 13\n" in kinds
    assert "no stack  custom job  SUCCEEDED" in place.refused("status", "pair")


def test_outside_of_a_project_a_unique_name_is_enough(place: Place) -> None:
    place.at()
    assert place.found("mxnet") == "4"
    assert place.found("mxnet-nets") == "4"
    assert place.found("only") == "18"
    assert place.found("twice") == "8"  # the live one of the jobs of no stack
    assert "2 jobs are named 'score'" in place.refused("status", "score")


COMMANDS = ["status", "logs", "watch", "cancel", "tensorboard", "import"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_same_rule(place: Place, command: str) -> None:
    refused = place.at("dev").refused(command, "only")
    assert f"vertex-training {command} digits/prod/only\n" in refused
    assert f"vertex-training {command} digits/prod/train\n" in place.at().refused(command, "train")


def test_runs_has_the_same_rule(place: Place) -> None:
    def stack_of(*words: str) -> str:
        return str(json.loads(place("runs", *words, "--json"))["resource"]["stack"])

    place.at("dev")
    assert stack_of("train") == "dev"
    assert stack_of("digits/prod/train") == "prod"
    assert "vertex-training runs digits/prod/only" in place.refused("runs", "only")
    assert stack_of("only", "--stack", "digits/prod") == "prod"
    assert stack_of("18") == "prod"


def test_cancel_stops_without_a_question_only_what_is_certainly_meant(place: Place) -> None:
    place.at("dev")
    ended = main(["cancel", "train"])
    assert ended == 1
    assert "Job 1 (train) has already ended" in place.capsys.readouterr().err
    place("cancel", "mxnet")
    place("cancel", "eval")
    place("cancel", "7")
    assert place.vertex.cancelled == ["4", "15", "7"]
    for words, whose in (
        (["digits/prod/train"], "is of stack digits/prod; stack digits/dev is selected here"),
        (["train", "--stack", "prod"], "is of stack digits/prod; stack digits/dev is selected here"),
        (["2"], "is of stack digits/prod; stack digits/dev is selected here"),
        (["shared"], "but not certainly of the stack that is selected here"),
        (["of-nobody"], "No stack submitted custom job 7 (of-nobody, RUNNING)"),
    ):
        refused = place.refused("cancel", *words)
        assert whose in refused
        assert f"run `vertex-training cancel {' '.join(words)} --yes`" in refused
    assert place.vertex.cancelled == ["4", "15", "7"]
    place("cancel", "digits/prod/train", "--yes")
    place.at()
    assert "no stack is selected here" in place.refused("cancel", "only")
    place("cancel", "of-nobody")
    assert place.vertex.cancelled == ["4", "15", "7", "2", "7"]


def test_cancel_asks_about_a_job_of_a_stack_of_another_backend(place: Place, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    state = programs / "state.json"
    (programs / "pulumi").write_text(f'#!/bin/sh\n[ "$1 $2" = "stack export" ] && cat {state}\n')
    (programs / "pulumi").chmod(0o755)
    place.monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    state.write_text('{"deployment": {}}')
    assert "its state does not have the job" in place.at("dev").refused("cancel", "mxnet")
    state.write_text('{"deployment": {"resources": [{"outputs": {"key": "0000000000000004-1"}}]}}')
    place("cancel", "mxnet")
    state.write_text('{"deployment": {"resources": [{"outputs": {"key": "cccc-1"}}]}}')
    place("cancel", "shared")  # its other declaration was destroyed
    assert place.vertex.cancelled == ["4", "17"]


def test_cancel_asks_on_a_terminal(place: Place, service: Service, tmp_path: Path) -> None:
    env = environment(
        tmp_path, VERTEX_EMULATOR_HOST=service.url, VERTEX_EMULATOR_TOKEN="t", PULUMI_STACK="no-such-stack"
    )
    answered = run_on_terminal("cancel", "digits/prod/train", env=env, typed="n\n")
    assert (answered.code, place.vertex.cancelled) == (1, [])
    assert "Nothing was cancelled." in answered.plain
    assert run_on_terminal("cancel", "digits/prod/train", env=env, typed="y\n").code == 0
    assert place.vertex.cancelled == ["2"]


@pytest.mark.parametrize("command", ["jobs", "top"])
def test_lists_have_a_column_and_an_option_for_the_stack(place: Place, command: str) -> None:
    def table(*words: str) -> list[list[str]]:
        return [re.split(r"  +", line.strip()) for line in place(command, *words).splitlines()]

    heading, *rows = table()
    column = heading.index("STACK")
    assert {"digits/dev", "digits/prod", "other/dev"} < {row[column] for row in rows if len(row) > column}
    place.at("dev")
    assert {row[column] for row in table("--stack", "prod")[1:]} == {"digits/prod"}
    assert {row[column] for row in table("--stack", "other/dev")[1:]} == {"other/dev"}
    assert place(command, "--stack", "digits/none") == ""
    found = json.loads(place(command, "--stack", "other/dev", "--json"))["jobs"]
    assert [one["id"] for one in found] == ["3"]


@pytest.mark.parametrize(
    ("stack", "words", "number"),
    [
        ("", (), "18"),
        ("dev", (), "17"),
        ("prod", (), "18"),
        ("without-jobs", (), "18"),
        ("dev", ("--stack", "other/dev"), "3"),
    ],
)
def test_without_a_name_it_is_the_newest_job_of_the_stack(
    place: Place, stack: str, words: tuple[str, ...], number: str
) -> None:
    assert json.loads(place.at(stack)("status", "--json", *words))["id"] == number
    assert json.loads(place.at(stack)("logs", "--json", *words) or "[]") == []


def test_without_a_name_a_stack_without_jobs_is_refused(place: Place) -> None:
    said = place.at("dev").refused("status", "--stack", "other/none")
    assert said == "error: There are no jobs of stack other/none in local, us-central1.\n"
