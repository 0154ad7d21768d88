"""The cost of jobs of the emulator: in `runs NAME`, and by a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.views import target
from support.emulated.command import Ended, environment, run, run_on_terminal
from support.tables import not_empty
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.fields import timestamps

POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {
        "imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "command": ["true"],
    },
}
UNPRICED = {
    **POOL,
    "machineSpec": {
        "machineType": "a2-highgpu-1g",
        "acceleratorType": "NVIDIA_TESLA_A100",
        "acceleratorCount": 1,
    },
}


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Outputs of the command about the same ended jobs."""

    named: Ended
    text: Ended
    narrow: Ended
    by_team: Ended
    by_team_text: Ended
    mistyped: Ended
    neither: Ended
    both: Ended


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steps]:
    home = tmp_path_factory.mktemp("home")
    data_dir = home / "emulator"
    launcher.ensure(data_dir)
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})

        def submit(name: str, pools: list[dict[str, Any]], **labels: str) -> None:
            job = {"displayName": name, "jobSpec": {"workerPoolSpecs": pools}, "labels": labels}
            custom_jobs.create(endpoint, job)

        owner = {"pulumi-project": "digits", "pulumi-stack": "dev", "pulumi-resource": "train"}
        for number in (1, 2):
            labels = identity.labels(f"aaaa-{number}", "v1-0", reason="spec")
            submit("train", [POOL, {**POOL, "replicaCount": "2"}], team="vision", **labels, **owner)
        submit("other", [POOL])
        submit("dear", [UNPRICED], team="speech")

        def ended() -> bool:
            return all(one.state.is_terminal for one in custom_jobs.list_jobs(endpoint))

        eventually(ended)
        env = environment(home, VERTEX_TRAINING_DATA_DIR=str(data_dir))
        yield Steps(
            named=run("runs", "train", "--json", env=env),
            text=run("runs", "train", env=env),
            narrow=run_on_terminal("runs", "train", env=env, columns=80),
            by_team=run("runs", "--by", "team", "--json", env=env),
            by_team_text=run("runs", "--by", "team", env=env),
            mistyped=run("runs", "--by", "teem", "--json", env=env),
            neither=run("runs", "--json", env=env),
            both=run("runs", "train", "--by", "team", "--json", env=env),
        )
    finally:
        emulator_reset.reset(data_dir)


def hours(run: dict[str, Any]) -> float:
    begin, end = timestamps.parse(run["startTime"]), timestamps.parse(run["endTime"])
    return (end - begin).total_seconds() / 3600


def test_a_run_has_cost_the_seconds_of_its_replicas(steps: Steps) -> None:
    for one in not_empty(steps.named.json["runs"]):
        cost = one["cost"]
        assert cost["replicaHours"] == pytest.approx(3 * hours(one))
        assert cost["total"] > 0.2 * cost["replicaHours"]
        assert cost["unknown"] == []


def test_all_runs_are_summed_up(steps: Steps) -> None:
    document = steps.named.json
    assert len(document["runs"]) == 2
    assert document["cost"]["total"] == pytest.approx(sum(one["cost"]["total"] for one in document["runs"]))


def test_the_table_has_the_cost_of_each_run(steps: Steps) -> None:
    lines = steps.text.out.splitlines()
    heading = next(line for line in lines if line.startswith("RUN"))
    assert heading.split()[:6] == ["RUN", "CREATED", "STATE", "RAN", "FOR", "COST"]
    column = heading.index("COST")
    rows = [line for line in lines if line.startswith(("1 ", "2 "))]
    assert [row[column] for row in rows] == ["$", "$"]
    assert "Cost of these runs at Google Cloud's prices: $" in steps.text.out


def test_the_table_fits_a_narrow_terminal(steps: Steps) -> None:
    assert max(map(len, steps.narrow.plain.splitlines())) <= 80


def test_jobs_are_summed_up_by_a_label(steps: Steps) -> None:
    document = steps.by_team.json
    groups = {group["value"]: group for group in document["groups"]}
    assert {value: group["jobs"] for value, group in groups.items()} == {"vision": 2, "speech": 1, None: 1}
    assert document["by"] == "team"
    assert groups["vision"]["cost"]["total"] == pytest.approx(steps.named.json["cost"]["total"])
    assert groups["speech"]["cost"]["total"] is document["cost"]["total"] is None
    assert document["cost"]["known"] == pytest.approx(
        sum(group["cost"]["known"] for group in groups.values())
    )


def test_the_text_names_what_has_no_price(steps: Steps) -> None:
    out = steps.by_team_text.out
    assert out.startswith("Cost of all jobs by team at Google Cloud's prices (")
    assert "(not set)" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("vision", "speech"))]
    assert len(rows) == 2
    assert all(float(row[2]) > 0 for row in rows)  # a few seconds of replicas are not 0.0 hours
    assert "All together: at least $" in out
    assert "Without a known price: " in out


def test_a_mistyped_label_gets_a_hint(steps: Steps) -> None:
    (error,) = steps.mistyped.json["errors"]
    assert error["path"] == "--by"
    assert "Did you mean 'team'?" in error["message"] or "did you mean team" in error["message"].lower()


def test_a_name_and_a_label_exclude_each_other(steps: Steps) -> None:
    for ended in (steps.neither, steps.both):
        assert ended.code == 2
        (error,) = ended.json["errors"]
        assert "Give either the NAME of a resource, or --by LABEL" in error["message"]
