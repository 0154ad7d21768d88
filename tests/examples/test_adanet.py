"""The real AdaNet: each replica builds, trains and places what `vertex-training placement` says."""

from __future__ import annotations

import json
import math
import re
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

import vertex_cluster
from support.client.examples import saved_models
from support.client.examples.example import Example, NewExample
from support.tables import not_empty

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # TensorFlow, up to eight replicas, three times

SUBNETWORKS, SERVERS, STEPS = 3, 2, 30


@dataclass(frozen=True)
class Run:
    """One job: its metrics, the reports of its workers, the rows in its log, and the plan of the command."""

    workers: int
    strategy: str
    metrics: dict[str, Any]
    reports: list[dict[str, Any]]
    printed: dict[int, list[list[str]]]
    """The cells of each iteration."""

    plan: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Round robin on a chief and 2 workers; continued on a chief and 4; replication on a chief and one."""

    round_robin: Run
    larger: Run
    replication: Run

    def all(self) -> list[Run]:
        return [self.round_robin, self.larger, self.replication]


@pytest.fixture(scope="module")
def runs(example: NewExample) -> Runs:
    made = example("adanet")
    round_robin = deploy(made, workers=3, strategy="round-robin", iterations=1)
    larger = deploy(made, workers=5, strategy="round-robin", iterations=2)
    replication = deploy(made, workers=2, strategy="replication", iterations=1)
    return Runs(round_robin=round_robin, larger=larger, replication=replication)


def deploy(made: Example, *, workers: int, strategy: str, iterations: int) -> Run:
    """Deploy the job with this many workers, the chief among them."""
    for key, value in (("workers", workers), ("strategy", strategy), ("iterations", iterations)):
        made.set(key, str(value))
    made.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=900).ok()
    outputs = made.outputs()
    assert outputs["state"] == "SUCCEEDED"
    sizes = ["--workers", workers, "--ps", SERVERS, "--subnetworks", SUBNETWORKS, "--strategy", strategy]
    plan = subprocess.run(
        ["vertex-training", "placement", *map(str, sizes), "--json"],
        env=made.environment,
        capture_output=True,
        check=True,
    )
    model = saved_models.bucket(made, outputs["model"].removeprefix("gs://"))
    reports = json.loads((model / "replicas.json").read_text())
    printed = {
        number: [row.split() for row in made.lines(made.job("adanet").name, f"{number:<10}", workers)]
        for number in outputs["metrics"]["iterations_of_this_job"]
    }
    return Run(workers, strategy, outputs["metrics"], reports, printed, json.loads(plan.stdout))


def iterations(run: Run) -> list[int]:
    return run.metrics["iterations_of_this_job"]


def built(report: dict[str, Any]) -> tuple[bool, list[int]]:
    """Return whether the replica built an ensemble, and the subnetworks that it built, by its variables."""
    names = " ".join(report["devices"])
    subnetworks = re.findall(r"iteration_\d+/subnetwork_t\d+_dnn(\d)/", names)
    return "/ensemble_" in names, sorted({int(each) for each in subnetworks})


def optimized_variable(name: str) -> str:
    """Return the variable that an optimizer's variable is placed with; any other name as it is."""
    return re.sub(r"^(.+)/\1/(\w+)/Adagrad$", r"\1/\2", name)


def test_every_worker_builds_and_trains_what_the_plan_says(runs: Runs) -> None:
    for run in runs.all():
        for iteration in iterations(run):
            reports = {each["replica"]: each for each in run.reports if each["iteration"] == iteration}
            assert {name: (*built(report), report["trains"]) for name, report in sorted(reports.items())} == {
                each["name"]: (each["buildEnsemble"], each["buildSubnetworks"], each["trainedSubnetworks"])
                for each in run.plan["workers"]
            }, (run.strategy, run.workers, iteration)


def test_the_log_has_a_row_for_each_worker_with_the_cells_of_the_plan(runs: Runs) -> None:
    for run in runs.all():
        for rows in not_empty(run.printed.values()):
            assert [row[:4] for row in rows] == [
                [
                    each["name"],
                    "E" if each["buildEnsemble"] else "-",
                    ",".join(map(str, each["buildSubnetworks"])),
                    ",".join(map(str, each["trainedSubnetworks"])) or "-",
                ]
                for each in run.plan["workers"]
            ]


def test_no_worker_computes_what_it_does_not_train(runs: Runs) -> None:
    """Compare with the steps that each worker counted when it computed them."""
    for run in runs.all():
        for report in not_empty(run.reports):
            assert {int(each) for each in report["computed"]} <= set(report["trains"])


def test_each_subnetwork_is_trained_for_all_its_steps(runs: Runs) -> None:
    for run in runs.all():
        for iteration in iterations(run):
            for subnetwork in map(str, range(SUBNETWORKS)):
                reports = [each for each in run.reports if each["iteration"] == iteration]
                assert sum(each["computed"].get(subnetwork, 0) for each in reports) >= STEPS


def test_every_variable_is_on_the_parameter_server_that_the_plan_names(runs: Runs) -> None:
    """Round robin gives each subnetwork servers of its own; all else is spread over all servers."""
    for run in runs.all():
        strategy: vertex_cluster.PlacementStrategy = (
            vertex_cluster.RoundRobinStrategy()
            if run.strategy == "round-robin"
            else vertex_cluster.ReplicationStrategy()
        )
        worker = vertex_cluster.PlacedWorker(
            index=0, workers=run.workers, parameter_servers=SERVERS, subnetworks=SUBNETWORKS
        )
        groups = run.plan["parameterServerGroups"]
        for report in run.reports:
            for name, named in report["devices"].items():
                device = named.removesuffix("/device:CPU:0")
                found = re.search(r"iteration_\d+/subnetwork_t\d+_dnn(\d)/", name)
                if not found:
                    assert device in {f"/job:ps/task:{each}" for each in range(SERVERS)}, name
                    if "/ensemble_" in name:
                        assert device == vertex_cluster.ensemble_variable_device(worker, name), name
                    continue
                subnetwork = int(found[1])
                expected = vertex_cluster.subnetwork_variable_device(
                    strategy, worker, subnetwork, optimized_variable(name)
                )
                assert device == expected, (run.strategy, name)
                assert int(device.rpartition(":")[2]) in groups[subnetwork]


def test_a_larger_cluster_continues_where_the_smaller_one_ended(runs: Runs) -> None:
    assert iterations(runs.round_robin) == [0]
    assert iterations(runs.larger) == [1]
    assert len(runs.larger.metrics["ensemble"]) == 2
    assert runs.larger.metrics["ensemble"][:1] == runs.round_robin.metrics["ensemble"]


def test_the_ensembles_read_digits(runs: Runs) -> None:
    guessing = math.log(10)
    for run in runs.all():
        assert run.metrics["accuracy"] > 0.5
        assert run.metrics["loss"] < guessing * 0.6
