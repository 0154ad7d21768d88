"""CLUSTER_SPEC on Vertex AI, in both contracts."""

from __future__ import annotations

import json

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, job, package_pool, pool
from support.ground.specs.environment_views import CONTRACTS, FULL, cluster_spec
from vertex_training.job import custom_job
from vertex_training.topology.pools import EnvVar

EXAMPLE = {
    "cluster": {
        "workerpool0": ["cmle-training-workerpool0-ab-0:2222"],
        "workerpool1": ["cmle-training-workerpool1-ab-0:2222", "cmle-training-workerpool1-ab-1:2222"],
        "workerpool2": ["cmle-training-workerpool2-ab-0:2222", "cmle-training-workerpool2-ab-1:2222"],
        "workerpool3": [
            "cmle-training-workerpool3-ab-0:2222",
            "cmle-training-workerpool3-ab-1:2222",
            "cmle-training-workerpool3-ab-2:2222",
        ],
    },
    "environment": "cloud",
    "task": {"type": "workerpool0", "index": 0, "trial": "1"},
}
"""The example of "Distributed training", its placeholder for the trial replaced."""


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_documents_example(contract):
    found = cluster_spec(
        pool(),
        pool(2),
        pool(2),
        pool(3),
        addresses=list(EXAMPLE["cluster"].values()),
        trial="1",
        contract=contract,
    )
    del found["job"]
    assert found == EXAMPLE


@pytest.mark.parity("Custom jobs: the environment of a replica")
def test_a_capture_of_a_distributed_job():
    addresses = [
        ["cmle-training-workerpool0-b644f12a34-0:2222"],
        ["cmle-training-workerpool1-b644f12a34-0:2222", "cmle-training-workerpool1-b644f12a34-1:2222"],
    ]
    assert cluster_spec(pool(), pool(2), addresses=addresses, open_ports=[3333]) == {
        "cluster": {"workerpool0": addresses[0], "workerpool1": addresses[1]},
        "environment": "cloud",
        "task": {"type": "workerpool0", "index": 0},
        "job": '{"python_module":"","package_uris":[],"job_args":[]}',
        "open_ports": [3333],
    }


@pytest.mark.parametrize(
    ("contract", "key", "value"),
    [
        pytest.param("observed", "cluster", {"chief": ["127.0.0.1:2000"]}, id="observed cluster"),
        pytest.param("observed", "task", {"type": "chief", "index": 0}, id="observed task"),
        pytest.param("observed", "environment", "cloud", id="observed environment"),
        pytest.param("documented", "cluster", {"workerpool0": ["127.0.0.1:2000"]}, id="documented cluster"),
        pytest.param("documented", "task", {"type": "workerpool0", "index": 0}, id="documented task"),
        pytest.param("documented", "environment", "cloud", id="documented environment"),
    ],
)
def test_a_single_replica(contract, key, value):
    assert cluster_spec(pool(), contract=contract)[key] == value


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    ("pools", "names"),
    [
        pytest.param((pool(), pool()), ["workerpool0", "workerpool1"], id="workers"),
        pytest.param((pool(), EMPTY, pool()), ["workerpool0", "workerpool2"], id="a gap keeps the number"),
        pytest.param((pool(), EMPTY, EMPTY, pool()), ["workerpool0", "workerpool3"], id="two gaps"),
        pytest.param((pool(), pool(), EMPTY, EMPTY), ["workerpool0", "workerpool1"], id="trailing empties"),
        pytest.param(FULL, [f"workerpool{i}" for i in range(4)], id="evaluators are listed"),
        pytest.param(
            (pool(), pool(), pool(image=REDUCTION_SERVER)),
            ["workerpool0", "workerpool1", "workerpool2"],
            id="reduction servers are listed",
        ),
    ],
)
def test_the_pools_that_are_listed(pools, names, contract):
    assert list(cluster_spec(*pools, contract=contract)["cluster"]) == names


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    ("position", "index", "task"),
    [
        pytest.param(0, 0, {"type": "workerpool0", "index": 0}, id="chief"),
        pytest.param(1, 1, {"type": "workerpool1", "index": 1}, id="second worker"),
        pytest.param(2, 0, {"type": "workerpool2", "index": 0}, id="server"),
        pytest.param(3, 0, {"type": "workerpool3", "index": 0}, id="evaluator"),
    ],
)
def test_the_task(position, index, task, contract):
    assert cluster_spec(*FULL, pool=position, index=index, contract=contract)["task"] == task


def test_a_chief_with_an_evaluator_is_not_called_chief():
    assert cluster_spec(pool(), EMPTY, EMPTY, pool())["task"]["type"] == "workerpool0"


@pytest.mark.parametrize("contract", CONTRACTS)
def test_open_ports_are_left_out_when_there_are_none(contract):
    assert "open_ports" not in cluster_spec(pool(), pool(), contract=contract)


# `job`.


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("python_module", "trainer.task"),
        ("package_uris", ["gs://staging/trainer-0.1.tar.gz"]),
        ("job_args", ["--epochs=20"]),
    ],
)
def test_the_observed_job_is_a_string_with_the_package(key, value):
    assert json.loads(cluster_spec(package_pool(), package_pool(2), pool=1)["job"])[key] == value


def test_the_observed_job_escapes_an_equals_sign():
    assert r"--epochs\u003d20" in cluster_spec(package_pool())["job"]


def test_the_observed_job_is_that_of_the_replicas_own_pool():
    found = cluster_spec(package_pool(), pool(), pool=1)["job"]
    assert json.loads(found) == {"python_module": "", "package_uris": [], "job_args": []}


OUTPUT = {"base_output_directory": "gs://b/out"}


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        pytest.param({}, "workerPoolSpecs", 4, id="pools"),
        pytest.param(OUTPUT, "baseOutputDirectory", {"outputUriPrefix": "gs://b/out/"}, id="directory"),
        pytest.param({"service_account": "a@b.iam"}, "serviceAccount", "a@b.iam", id="service account"),
        pytest.param({"network": "projects/1/global/networks/n"}, "network", None, id="network"),
        pytest.param({"enable_web_access": True}, "enableWebAccess", True, id="web access"),
        pytest.param({"tensorboard": "projects/1/locations/l/tensorboards/2"}, "tensorboard", None, id="tb"),
    ],
)
def test_the_documented_job_is_the_whole_spec(given, key, value):
    found = cluster_spec(*FULL, contract="documented", **given)["job"][key]
    if key == "workerPoolSpecs":
        assert len(found) == value
    else:
        assert found == (given[key] if value is None else value)


def test_the_documented_job_is_the_request():
    spec = job(
        pool(args=["--epochs=20"]), EMPTY, pool(2), base_output_directory="gs://b/out/", labels={"a": "b"}
    )
    found = cluster_spec(
        *spec.worker_pool_specs,
        contract="documented",
        base_output_directory="gs://b/out/",
        labels={"a": "b"},
        pool=2,
        index=1,
    )
    assert found["job"] == custom_job.to_wire(spec)["jobSpec"]


def test_the_documented_job_has_the_values_of_variables():
    own = package_pool(env=(EnvVar(name="TOKEN", value="secret"),))
    task = cluster_spec(own, contract="documented")["job"]["workerPoolSpecs"][0]["pythonPackageSpec"]
    assert task["env"] == [{"name": "TOKEN", "value": "secret"}]
