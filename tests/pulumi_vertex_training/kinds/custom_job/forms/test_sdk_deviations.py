"""Deviations from the pools of Google's SDK: a test for each row in docs/coming-from/sdk-differences.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.explain.documents import read_document
from support.ground import jobs
from vertex_training.findings.problems import errors
from vertex_training.job.custom_job import to_wire
from vertex_training.topology.pools import chief_worker_pool
from vertex_training.topology.roles import is_reduction_server_image

MACHINE = {"machine_type": "n1-standard-4"}
CHIEF = {"chief_spec": {"replica_count": 1, **MACHINE}}
WORKERS = {"replica_count": 2, **MACHINE}
GPU = {"accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}


def paths(value):
    return [problem.path for problem in errors(read_document(value).problems)]


def wire_pools(value):
    return to_wire(read_document(value).spec)["jobSpec"]["workerPoolSpecs"]


def deviation_empty_pool_is_an_empty_message():
    pools = wire_pools({**CHIEF, "worker_spec": {**MACHINE, "replica_count": 0}, "server_spec": WORKERS})
    assert pools[1] == {}


def deviation_no_chief():
    assert paths({"worker_spec": WORKERS}) == ["chief"]


def deviation_accelerator_type_without_count():
    value = {**CHIEF, "worker_spec": {**WORKERS, "accelerator_type": "NVIDIA_TESLA_T4"}}
    assert paths(value) == ["worker_spec.accelerator_count"]


def deviation_accelerator_count_without_type():
    value = {**CHIEF, "worker_spec": {**WORKERS, "accelerator_count": 2}}
    assert paths(value) == ["worker_spec.accelerator_type"]


def deviation_negative_replica_count():
    assert paths({**CHIEF, "evaluator_spec": {**MACHINE, "replica_count": -1}}) == [
        "evaluator_spec.replica_count"
    ]


def deviation_negative_accelerator_count():
    value = {**CHIEF, "worker_spec": {**WORKERS, **GPU, "accelerator_count": -1}}
    assert paths(value) == ["worker_spec.accelerator_count"]


def deviation_unknown_accelerator():
    value = {**CHIEF, "worker_spec": {**WORKERS, **GPU, "accelerator_type": "NVIDIA_TESLA_X1"}}
    assert paths(value) == ["worker_spec.accelerator_type"]


def deviation_accelerator_in_an_empty_pool():
    empty = {**MACHINE, "accelerator_type": "NVIDIA_TESLA_X1", "replica_count": 0}
    assert paths({**CHIEF, "worker_spec": empty}) == []


def deviation_machine_without_replicas():
    assert paths({**CHIEF, "worker_spec": MACHINE}) == ["worker_spec.replica_count"]


def deviation_reduction_servers_without_image():
    pools = wire_pools({**CHIEF, "worker_spec": WORKERS, "reduction_servers": {"replica_count": 2}})
    assert is_reduction_server_image(pools[2]["containerSpec"]["imageUri"])


def deviation_reduction_server_machine():
    pools = wire_pools({**CHIEF, "worker_spec": WORKERS, "reduction_servers": {"replica_count": 2}})
    assert pools[2]["machineSpec"]["machineType"] == "n1-highcpu-16"


def deviation_chief_worker_pool_of_nothing():
    with pytest.raises(ValueError, match="0 replicas"):
        chief_worker_pool(jobs.pool(), 0)


DEVIATIONS = {name: check for name, check in sorted(globals().items()) if name.startswith("deviation_")}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_is_as_documented(name):
    DEVIATIONS[name]()


def test_every_deviation_has_a_row_and_a_test():
    guide = Path(__file__).parents[5] / "docs" / "coming-from" / "sdk-differences.md"
    rows = re.findall(r"<a id=\"(deviation-[a-z-]+)\"></a>", guide.read_text(encoding="utf-8"))
    assert sorted(rows) == [name.replace("_", "-") for name in DEVIATIONS]
