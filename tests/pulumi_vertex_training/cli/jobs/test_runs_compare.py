"""`vertex-training runs NAME --compare`: runs side by side, on the real emulator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.runs import identity, secret_arguments
from pulumi_vertex_training.views import target
from support import json_schema
from support.emulated.command import Ended, environment, run, run_on_terminal
from support.waiting import eventually
from vertex_cluster.reporting import REPORT_FILE
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

BUCKET = "compared-bucket"
ATTACK = "\x1b]0;owned\x07"
POOL: dict[str, Any] = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {
        "imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": ["true"],
    },
}
WIDE = {**POOL, "machineSpec": {"machineType": "n1-standard-8"}}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The command, and the ids of the jobs of its runs, oldest first."""

    env: dict[str, str]
    ids: tuple[str, ...]

    def __call__(self, *words: str) -> Ended:
        return run("runs", *words, env=self.env)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    home = tmp_path_factory.mktemp("compared")
    data_dir = home / "emulator"
    launcher.ensure(data_dir)
    env = environment(home, VERTEX_TRAINING_DATA_DIR=str(data_dir))
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        buckets.create(endpoint, {"name": BUCKET, "location": "us-central1"})
        ids = []
        for number, (pools, loss) in enumerate(
            (([POOL], 0.5), ([WIDE], 0.25), ([WIDE, POOL], 0.75)), start=1
        ):
            base = f"{number}/train"
            metrics = {"loss": loss, f"only{ATTACK}{number}": 1}
            objects.upload(endpoint, BUCKET, f"{base}/model/metrics.json", json.dumps(metrics).encode())
            history = [
                {"step": step, "metrics": {"error": abs(step - number) + loss}} for step in range(1, 5)
            ]
            report = json.dumps({**history[-1], "history": history}).encode()
            objects.upload(endpoint, BUCKET, f"{base}/{REPORT_FILE}", report)
            labels = {**identity.labels(f"aaaa-{number}", "v1-0", reason="spec"), "pulumi-resource": "train"}
            args = ["--rate", f"{number / 10}", "--token", f"hunter{number}"]
            request = secret_arguments.labelled(
                {"labels": labels, "jobSpec": {"workerPoolSpecs": [_with(pool, args) for pool in pools]}},
                lambda text: text.startswith("hunter"),
            )
            body = {
                "displayName": "train",
                "jobSpec": {
                    **request["jobSpec"],
                    "baseOutputDirectory": {"outputUriPrefix": f"gs://{BUCKET}/{base}"},
                },
                "labels": request["labels"],
            }
            ids.append(custom_jobs.create(endpoint, body).job_id)
        alone = {**identity.labels("bbbb-1", "v1-0", reason="first-run"), "pulumi-resource": "alone"}
        custom_jobs.create(
            endpoint, {"displayName": "alone", "jobSpec": {"workerPoolSpecs": [POOL]}, "labels": alone}
        )
        eventually(lambda: run("jobs", "--live", "--json", env=env).json["jobs"] == [])
        yield Compared(env=env, ids=tuple(ids))
    finally:
        emulator_reset.reset(data_dir)


def _with(pool: dict[str, Any], args: list[str]) -> dict[str, Any]:
    return {**pool, "containerSpec": {**pool["containerSpec"], "args": args}}


def test_without_a_choice_the_last_two_runs_are_compared(compared: Compared) -> None:
    ended = compared("train", "--compare")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert re.fullmatch(r"RUN +2 +3", lines[2])
    rows = {line.split()[0]: line for line in lines[3:] if line}
    assert re.fullmatch(r"state +\w+ +\w+", rows["state"])
    assert "Run 3, compared with run 2" in lines
    assert "  workers: added, 1 x n1-standard-4; chief unchanged" in lines


def test_the_first_of_the_chosen_runs_is_the_base(compared: Compared) -> None:
    document = compared("train", "--compare", "1", "train/2", compared.ids[2], "--json").json
    assert document["comparison"]["base"] == "1"
    second, third = document["comparison"]["runs"]
    assert (second["run"], third["run"]) == ("2", "3")
    arguments = "arguments --rate and --token changed"
    assert second["changes"] == [f"chief: machine type n1-standard-4 -> n1-standard-8, {arguments}"]
    assert third["changes"] == [f"{second['changes'][0]}; workers: added, 1 x n1-standard-4"]
    assert len(document["runs"]) == 3


def test_metrics_have_their_differences(compared: Compared) -> None:
    document = compared("train", "--compare", "1", "2", "--json").json["comparison"]["runs"][0]
    assert document["metricsMore"]["loss"] == -0.25
    assert document["metricsMore"][f"only{ATTACK}1"] is None
    text = compared("train", "--compare", "1", "2").out
    assert re.search(r"^loss +0\.5 +0\.25 \(-0\.25\) \*$", text, re.MULTILINE)
    assert r"only\x1b]0;owned\x071" in text and "\x1b" not in text


def test_arguments_that_differ_have_their_values(compared: Compared) -> None:
    ended = compared("train", "--compare", "1", "2", "3")
    assert re.search(r"^--rate +0\.1 +0\.2 +0\.3$", ended.out, re.MULTILINE)
    assert re.search(r"^--token +\[secret\] +\[secret\] +\[secret\]$", ended.out, re.MULTILINE)
    found = compared("train", "--compare", "1", "2", "--json")
    assert found.json["comparison"]["arguments"] == [
        {"flag": "--rate", "pools": [], "values": ["0.1", "0.2"]},
        {"flag": "--token", "pools": [], "values": ["[secret]", "[secret]"]},
    ]
    assert "hunter" not in ended.out + found.out


def test_reported_metrics_have_last_and_best_values(compared: Compared) -> None:
    ended = compared("train", "--compare", "1", "2")
    assert re.search(r"^error +3\.5 +2\.25 \(-1\.25\) \*$", ended.out, re.MULTILINE)
    assert re.search(r"^error, best +0\.5 at 1 +0\.25 at 2 \*$", ended.out, re.MULTILINE)
    metrics = compared("train", "--compare", "1", "2", "--json").json["comparison"]["metrics"]
    assert {
        "name": "error",
        "better": "lower",
        "last": [3.5, 2.25],
        "best": [0.5, 0.25],
        "bestStep": [1, 2],
    } in (metrics)


def test_one_run_is_compared_with_the_latest(compared: Compared) -> None:
    for chosen, base, other in (("1", "1", "3"), ("3", "2", "3")):
        comparison = compared("train", "--compare", chosen, "--json").json["comparison"]
        assert (comparison["base"], [one["run"] for one in comparison["runs"]]) == (base, [other])


def test_wrong_runs_are_bad_usage(compared: Compared) -> None:
    for words, message in (
        (("train", "--compare", "7"), "There is no run '7'. Runs: 3, 2, 1."),
        (("train", "--compare", compared.ids[0][:-1] + "x"), f"Did you mean '{compared.ids[0]}'?"),
        (("train", "--compare", "2", "train/2"), "Run 2 is named twice."),
        (("alone", "--compare"), "There is only one run, 1, so there is nothing to compare."),
    ):
        ended = compared(*words)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err


def test_the_table_fits_a_narrow_terminal(compared: Compared) -> None:
    for columns in (80, 100):
        ended = run_on_terminal(
            "runs", "train", "--compare", "1", "2", "3", env=compared.env, columns=columns
        )
        assert ended.code == 0
        assert max(map(len, ended.plain.splitlines())) <= columns


def test_the_page_has_every_key(compared: Compared) -> None:
    document = compared("train", "--compare", "--json").json
    json_schema.check("runs --compare", document)
    comparison = document["comparison"]
    keys = {f"comparison.{key}" for key in comparison}
    for name in ("runs", "arguments", "metrics"):
        keys |= {f"comparison.{name}[].{key}" for key in comparison[name][0]}
    assert keys == json_schema.keys("runs --compare", "comparison.")
