"""The cost in `explain`: in the text, as JSON and as Markdown, at the built-in prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.command import environment, run, run_on_terminal
from support.specs.explained_kinds import Run

N1 = 0.21849885
"""An hour of an n1-standard-4 in us-central1 with the management fee (Vertex AI pricing page)."""


@pytest.fixture(autouse=True)
def no_price_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the prices that the user may have refreshed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pool(count: int = 1, machine: str = "n1-standard-4", **machine_spec: Any) -> dict[str, Any]:
    return {
        "machineSpec": {"machineType": machine, **machine_spec},
        "replicaCount": count,
        "containerSpec": {"imageUri": "gcr.io/p/i:1"},
    }


def job(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"displayName": "train", "jobSpec": {"workerPoolSpecs": list(pools), **more}}


def document(command: Run, value: Any, *words: str) -> dict[str, Any]:
    _, out, _ = command("explain", value, "--json", *words)
    return json.loads(out)


def machines(cost: dict[str, Any]) -> float:
    """Return an hour of the machines and their fees, without disks."""
    return float(sum(item["hourly"] for item in cost["items"] if not item["path"].endswith("disk_spec")))


def test_the_json_has_each_part_with_its_source(command: Run) -> None:
    cost = document(command, job(pool(), pool(3), scheduling={"timeout": "3600s"}))["cost"]
    assert cost["currency"] == "USD"
    assert machines(cost) == pytest.approx(4 * N1, rel=1e-3)
    assert cost["hourly"] == pytest.approx(sum(item["hourly"] for item in cost["items"]), abs=1e-5)
    assert cost["perTimeout"] == pytest.approx(cost["hourly"], abs=1e-5)
    assert cost["unknown"] == []
    item = cost["items"][0]
    assert set(item) == {"path", "what", "hourly", "source", "date", "derived"}
    assert item["path"] == "worker_pool_specs[0].machine_spec.machine_type"


def test_the_default_timeout_is_that_of_the_service(command: Run) -> None:
    cost = document(command, job(pool()))["cost"]
    assert cost["perTimeout"] == pytest.approx(cost["hourly"] * 7 * 24, rel=1e-4)


def test_the_region_decides(command: Run) -> None:
    here = document(command, job(pool()))["cost"]
    there = document(command, job(pool()), "--location", "asia-southeast1")["cost"]
    assert there["hourly"] > here["hourly"]


def test_an_unknown_price_makes_the_sum_null(command: Run) -> None:
    gpu = {"acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
    cost = document(command, job(pool(machine="a2-highgpu-1g", **gpu)))["cost"]
    assert cost["hourly"] is cost["perTimeout"] is None
    assert cost["unknown"]


@pytest.mark.parametrize("wrong", [job(pool(-1)), {"jobSpec": {"workerPoolSpecs": "all"}}, []])
def test_a_job_that_cannot_be_read_has_no_cost(command: Run, wrong: Any) -> None:
    assert document(command, wrong)["cost"] is None


def test_a_job_with_other_errors_has_its_cost(command: Run) -> None:
    found = document(command, job(pool(), serviceAccount="nobody", network="x"))
    assert found["errors"]
    assert found["cost"]["hourly"]


def test_the_text_has_the_sums_and_the_parts(command: Run) -> None:
    declared = job(pool(), pool(3), scheduling={"timeout": "36000s"})
    short, whole = (
        command("explain", declared, *more)[1]
        .partition("Cost in us-central1\n")[2]
        .partition("\n\nWhat the replicas see")[0]
        for more in ((), ("--cost",))
    )
    assert [line.strip() for line in short.splitlines()] == [
        "$0.98 an hour, at most $9.81 until its timeout of 10 h.",
        "Chief $0.25, workers $0.74.",
        "No region is given; `--location` chooses one.",
        "Each part, and the sources of the prices: `--cost`.",
    ]
    assert "until its timeout of 10 h." in whole
    assert "3 x n1-standard-4" in whole
    assert "Source: " in whole
    assert "`--cost`" not in whole


def test_a_region_that_is_given_is_not_asked_for(command: Run) -> None:
    for more in ([], ["--markdown"]):
        assert "No region is given" in command("explain", job(pool()), *more)[1]
        assert "No region is given" not in command("explain", job(pool()), "--location", "us-east1", *more)[1]
        assert "No region is given" not in command("explain", job(pool(), persistentResourceId="c"), *more)[1]


def test_a_machine_that_no_refresh_helps_with_has_no_such_hint(command: Run) -> None:
    unknown = {**pool(), "machineSpec": {"machineType": "n9-mega-4"}}
    _, out, _ = command("explain", job(unknown), "--allow-unknown-types", "--location", "us-central1")
    assert "Not known: n9-mega-4: the machine type is not in the tables" in out
    assert "prices refresh" not in out


def test_a_job_without_replicas_has_no_section(command: Run) -> None:
    assert "Cost in" not in command("explain", {"workerPoolSpecs": []})[1]


def test_a_job_on_a_persistent_resource_says_why_it_costs_nothing(command: Run) -> None:
    _, out, _ = command("explain", job(pool(), persistentResourceId="cluster"))
    assert "Nothing of its own, as it runs on the machines of a persistent resource." in out


def test_a_given_persistent_resource_has_its_cost_while_it_is_idle(command: Run, tmp_path: Path) -> None:
    scaled = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "autoscalingSpec": {"minReplicaCount": 1, "maxReplicaCount": 4},
    }
    resource = tmp_path / "resource.json"
    resource.write_text(json.dumps({"resourcePools": [scaled]}))
    on_it = job(pool(), persistentResourceId="cluster")
    arguments = ("--persistent-resource", str(resource))
    cost = document(command, on_it, *arguments)["persistentResourceCost"]
    assert machines(cost) == pytest.approx(N1, rel=1e-3)
    assert cost["mostHourly"] == pytest.approx(4 * cost["hourly"], rel=1e-4)
    assert "persistentResourceCost" not in document(command, on_it)
    sentence = "$0.25 an hour, up to $0.98 with autoscaled pools at their maximum, also while no job runs"
    _, out, _ = command("explain", on_it, *arguments)
    assert sentence in out.partition("Cost of the persistent resource in us-central1")[2]
    _, page, _ = command("explain", on_it, "--markdown", *arguments)
    assert "#### Cost of the persistent resource in us-central1" in page


def test_a_persistent_resource_that_shrinks_to_nothing_has_its_gaps(command: Run, tmp_path: Path) -> None:
    machine = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
    scaled = {"machineSpec": machine, "autoscalingSpec": {"minReplicaCount": 0, "maxReplicaCount": 4}}
    resource = tmp_path / "resource.json"
    resource.write_text(json.dumps({"resourcePools": [scaled]}))
    arguments = (job(pool(), persistentResourceId="cluster"), "--persistent-resource", str(resource))
    cost = document(command, *arguments)["persistentResourceCost"]
    assert (cost["hourly"], cost["mostHourly"]) == (0, None)
    scaled["autoscalingSpec"] = {"minReplicaCount": 1, "maxReplicaCount": 4}
    larger = tmp_path / "larger.json"
    larger.write_text(json.dumps({"resourcePools": [scaled]}))
    always = document(command, *arguments[:-1], str(larger))["persistentResourceCost"]
    assert (always["hourly"], always["mostHourly"]) == (None, None)
    assert {gap["path"] for gap in cost["unknown"]} == {
        "resource_pools[0].machine_spec.machine_type",
        "resource_pools[0].machine_spec.accelerator_type",
    }
    _, out, _ = command("explain", *arguments)
    assert "Nothing, at least $14.80 with autoscaled pools at their maximum, without a known price: " in out


@pytest.mark.parametrize("columns", [80, 100])
def test_the_section_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job(pool(), pool(3))))
    words = ("explain", str(tmp_path / "job.json"), "--cost")
    ended = run_on_terminal(*words, env=environment(tmp_path), columns=columns)
    section = ended.plain.partition("Cost in us-central1")[2].partition("What the replicas see")[0]
    assert "AN HOUR" in section
    assert max(map(len, section.splitlines())) <= columns


def test_markdown_has_the_picture_the_cost_and_the_findings(command: Run) -> None:
    code, out, _ = command("explain", job(pool(), {}, {}, pool(2)), "--markdown")
    assert code == 0
    assert out.startswith("### A distributed job of 3 replicas")
    assert "```mermaid\nflowchart LR\n" in out
    assert "- **warning**: " in out
    assert "#### Cost in us-central1" in out
    assert "| Part | An hour | Price of | Field |" in out
    assert "`worker_pool_specs[3].machine_spec.machine_type`" in out


def test_markdown_escapes_what_a_file_says(command: Run) -> None:
    _, out, _ = command("explain", job(pool(machine="@team <b>|x")), "--markdown")
    assert "<b>" not in out
    assert "@team" not in out


def test_markdown_of_no_job_is_an_error_in_words(command: Run) -> None:
    code, out, _ = command("explain", [], "--markdown")
    assert code == 2
    assert out.startswith("### This is not a job\n")
    assert "- **error**: " in out


@pytest.mark.parametrize("words", [("--json",), ("--replica", "workerpool0-0"), ("--mermaid",)])
def test_markdown_is_given_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job(pool())))
    ended = run("explain", str(tmp_path / "job.json"), "--markdown", *words, env=environment(tmp_path))
    assert ended.code == 2
    assert "--markdown" in ended.err + ended.out
