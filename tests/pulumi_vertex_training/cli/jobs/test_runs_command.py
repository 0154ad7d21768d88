"""`vertex-training runs` on jobs with labels of runs; `kinds/custom_job/test_kept_runs.py` deploys them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs.lookup import all_jobs
from support import json_schema
from support.emulated.command import Ended, environment, run, run_on_terminal
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {
        "imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": ["true"],
    },
}
STUDY = {
    "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameterId": "x", "integerValueSpec": {"minValue": "1", "maxValue": "2"}}],
}


def labels(key: str, resource: str, *, stack: str = "dev", reason: str = "spec") -> dict[str, str]:
    owner = {"pulumi-project": "digits", "pulumi-stack": stack, "pulumi-resource": resource}
    return {**identity.labels(key, "v1-0", reason=reason), **owner}


@dataclass(kw_only=True)
class Listed:
    """The output of the command by its words."""

    env: dict[str, str]
    folder: Path
    project: Path
    """A folder with a Pulumi.yaml."""

    def __call__(self, *words: str, folder: Path | None = None, **more: str) -> Ended:
        return run("runs", *words, env={**self.env, **more}, folder=folder or self.folder)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listed]:
    home = tmp_path_factory.mktemp("home")
    data_dir = home / "emulator"
    launcher.ensure(data_dir)
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        submit_all(endpoint)
        # A name with several live jobs means none of them: the fastest machine has ended no job yet.
        eventually(lambda: all(one.state.is_terminal for one in all_jobs(endpoint)))
        project = home / "project"
        project.mkdir()
        (project / "Pulumi.yaml").write_text("name: digits\nruntime: python\n")
        yield Listed(
            env=environment(home, VERTEX_TRAINING_DATA_DIR=str(data_dir)), folder=home, project=project
        )
    finally:
        emulator_reset.reset(data_dir)


def submit_all(endpoint: Endpoint) -> None:
    def submit(name: str, pool: dict[str, Any] = POOL, **more: str) -> None:
        job = {"displayName": name, "jobSpec": {"workerPoolSpecs": [pool]}, "labels": more}
        custom_jobs.create(endpoint, job)

    wide = {**POOL, "machineSpec": {"machineType": "n1-standard-8"}}
    submit("train", **labels("aaaa-1", "train", reason="first-run"))
    submit("train", wide, **labels("aaaa-2", "train"))
    submit("train", wide, **labels("aaaa-3", "train", reason="failed-again-1-of-2"))
    submit("train", **labels("bbbb-1", "train", stack="prod", reason="first-run"))
    submit("renamed", **labels("cccc-1", "before", reason="first-run"))
    submit("renamed", **labels("cccc-2", "after", reason="run-token"))
    submit("both", **labels("dddd-1", "both", reason="reason-of-a-newer-version"))
    submit("fit 1", **labels("ffff-1", "fit", reason="first-run"))
    submit("fit 2", wide, **labels("ffff-2", "fit"))
    submit("of-nobody")
    tuning = {"studySpec": STUDY, "maxTrialCount": 1, "parallelTrialCount": 1, "displayName": "both"}
    tuning |= {"trialJobSpec": {"workerPoolSpecs": [POOL]}, "labels": labels("eeee-1", "both")}
    tuning_jobs.GATEWAY.create(endpoint, tuning)


def numbers(ended: Ended) -> list[tuple[str, str | None]]:
    return [(one["run"], one["why"]) for one in ended.json["runs"]]


def test_a_name_in_several_stacks_has_to_be_narrowed_down(listed: Listed) -> None:
    refused = listed("train")
    assert refused.code == 2
    assert "2 resources are named 'train'." in refused.err
    assert "vertex-training runs digits/dev/train\n" in refused.err
    assert numbers(listed("train", "--stack", "prod", "--json")) == [("1", "first run")]
    assert listed("train", "--stack", "organization/digits/prod", "--json").code == 0


def test_the_stack_that_is_selected_here_counts(listed: Listed) -> None:
    ended = listed("train", "--json", folder=listed.project, PULUMI_STACK="dev")
    assert numbers(ended) == [
        ("3", "the run before failed, rerun 1 of 2"),
        ("2", "its spec changed: chief: machine type n1-standard-4 -> n1-standard-8"),
        ("1", "first run"),
    ]


def test_the_number_in_a_display_name_is_no_change(listed: Listed) -> None:
    assert numbers(listed("fit", "--json")) == [
        ("2", "its spec changed: chief: machine type n1-standard-4 -> n1-standard-8"),
        ("1", "first run"),
    ]


def test_a_kind_narrows_down_and_an_unknown_reason_is_shown_as_it_is(listed: Listed) -> None:
    refused = listed("both").err
    assert "2 resources are named 'both'." in refused
    assert re.findall(r"^  digits/dev  (\w+ job) ", refused, re.MULTILINE) == ["custom job", "tuning job"]
    assert numbers(listed("both", "--kind", "custom-job", "--json")) == [("1", "reason-of-a-newer-version")]
    assert listed("both", "--kind", "tuning-job", "--json").json["resource"]["kind"] == "tuning job"


@pytest.mark.parametrize("name", ["before", "after", "renamed"])
def test_a_renamed_resource_has_all_its_runs_under_each_name(listed: Listed, name: str) -> None:
    assert [run for run, _ in numbers(listed(name, "--json"))] == ["2", "1"]


def test_a_job_without_a_stack_and_an_unknown_name_get_a_hint(listed: Listed) -> None:
    assert "`vertex-training status of-nobody` shows it" in listed("of-nobody").err
    unknown = listed("bfore", "--json")
    assert (unknown.code, unknown.json["errors"][0]["path"]) == (2, "NAME")
    assert "There are runs of: custom job after of stack digits/dev" in unknown.json["errors"][0]["message"]


def test_the_table_fits_narrow_terminals(listed: Listed) -> None:
    for columns in (80, 100):
        ended = run_on_terminal("runs", "train", "--stack", "dev", env=listed.env, columns=columns)
        assert ended.code == 0
        assert max(map(len, ended.plain.splitlines())) <= columns


def test_the_page_has_every_key(listed: Listed) -> None:
    document = listed("after", "--json").json
    json_schema.check("runs", document)
    of_every_job = {
        "kind",
        "name",
        "displayName",
        "state",
        "createTime",
        "startTime",
        "endTime",
        "labels",
        "error",
    }
    keys = {f"resource.{key}" for key in document["resource"]}
    keys |= {f"runs[].{key}" for run in document["runs"] for key in run.keys() - of_every_job}
    documented = json_schema.keys("runs", "runs[].") | json_schema.keys("runs", "resource.")
    assert keys == {key for key in documented if key.count(".") == 1}
