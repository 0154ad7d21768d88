"""CLUSTER_SPEC of real replicas in both forms: as real jobs get it, and as the documentation has it.

The expected values are written out, from the logs of real jobs and from "Distributed training".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.emulated.job_emulator import IMAGE, JobEmulator, pool, wait_for_flags
from support.emulated.services.tuning import QUICK
from support.emulated.services.tuning import create as create_tuning_job
from support.waiting import eventually
from vertex_emulator.client.lookup import find
from vertex_emulator.testing.emulator import VertexEmulator
from vertex_training.replica_environment.replica import Contract

TELL = "import json, os; print(json.dumps(dict(os.environ)))"
RAISE = f"{TELL}\nopen('/gcs/flags/' + os.environ['RANK'], 'w').close()"


def fixture(emulator: JobEmulator) -> VertexEmulator:
    """Return the client that a user's test has."""
    started = find(emulator.data_dir)
    assert started is not None
    return VertexEmulator(
        data_dir=emulator.data_dir, project="local", location="us-central1", _first=started, _outer={}
    )


def environment_of(emulator: JobEmulator, name: str, task: str = "workerpool0-0") -> dict[str, str]:
    """Return the environment that a replica printed first."""
    return json.loads(emulator.printed(name, task)[0])


@pytest.fixture
def setting(idle: JobEmulator) -> Iterator[JobEmulator]:
    yield idle
    fixture(idle).set_contract("observed")


def wire_pool(code: str, replicas: str) -> dict[str, Any]:
    """Return a pool in the API's JSON: int64 as text, the default disk filled in."""
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": replicas,
        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
        "containerSpec": {"imageUri": IMAGE, "command": ["python3", "-c", code]},
    }


CONTAINER_JOB = '{"python_module":"","package_uris":[],"job_args":[]}'
"""`job` in the log of a real job that runs a container."""


@pytest.mark.parity(
    "Custom jobs: differences of `CLUSTER_SPEC` between the documentation and real jobs",
    same="the documented form, a mapping in `job` and `workerpool0`, after `vertex-training "
    "emulator contract documented`",
)
@pytest.mark.parametrize(
    ("contract", "name", "expected_job"),
    [
        pytest.param("observed", "chief", CONTAINER_JOB, id="observed"),
        pytest.param(
            "documented", "workerpool0", {"workerPoolSpecs": [wire_pool(TELL, "1")]}, id="documented"
        ),
    ],
)
def test_a_single_replica(emulator: JobEmulator, contract: Contract, name: str, expected_job: Any) -> None:
    fixture(emulator).set_contract(contract)
    created = emulator.create(pool(TELL))
    assert emulator.wait(created)["state"] == "JOB_STATE_SUCCEEDED"
    variables = environment_of(emulator, created)
    found = json.loads(variables["CLUSTER_SPEC"])
    (address,) = found["cluster"].pop(name)
    assert address.startswith("127.0.0.1:")
    assert found == {
        "cluster": {},
        "environment": "cloud",
        "task": {"type": name, "index": 0},
        "job": expected_job,
    }
    assert "TF_CONFIG" not in variables


CHIEF = f"{TELL}\n{wait_for_flags('1', '2')}"


@pytest.mark.parity("Custom jobs: differences of `CLUSTER_SPEC` between the documentation and real jobs")
@pytest.mark.parametrize(
    ("contract", "expected_job"),
    [
        pytest.param("observed", CONTAINER_JOB, id="observed"),
        pytest.param(
            "documented",
            {
                "workerPoolSpecs": [wire_pool(CHIEF, "1"), wire_pool(RAISE, "2")],
                "baseOutputDirectory": {"outputUriPrefix": "gs://flags/out/"},
            },
            id="documented",
        ),
    ],
)
def test_a_distributed_job(emulator: JobEmulator, contract: Contract, expected_job: Any) -> None:
    """Expect the same names of pools in both forms; only `job` differs."""
    fixture(emulator).set_contract(contract)
    name = emulator.create(
        pool(CHIEF),
        pool(RAISE, replicas=2),
        labels={"a": "b"},
        baseOutputDirectory={"outputUriPrefix": "gs://flags/out/"},
    )
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    cluster = json.loads(environment_of(emulator, name)["CLUSTER_SPEC"])["cluster"]
    assert {pool_name: len(hosts) for pool_name, hosts in cluster.items()} == {
        "workerpool0": 1,
        "workerpool1": 2,
    }
    for task, kind, role, index in (
        ("workerpool0-0", "workerpool0", "chief", 0),
        ("workerpool1-0", "workerpool1", "worker", 0),
        ("workerpool1-1", "workerpool1", "worker", 1),
    ):
        variables = environment_of(emulator, name, task)
        tf_config = json.loads(variables["TF_CONFIG"])
        assert tf_config["task"].pop("cloud")
        assert json.loads(variables["CLUSTER_SPEC"]) == {
            "cluster": cluster,
            "environment": "cloud",
            "task": {"type": kind, "index": index},
            "job": expected_job,
        }
        assert tf_config == {
            "cluster": {"chief": cluster["workerpool0"], "worker": cluster["workerpool1"]},
            "environment": "cloud",
            "task": {"type": role, "index": index},
            "job": expected_job,
        }


@pytest.mark.parity("Custom jobs: differences of `CLUSTER_SPEC` between the documentation and real jobs")
def test_a_job_keeps_its_form_when_it_is_restarted(emulator: JobEmulator) -> None:
    again = (
        f"{TELL}\n"
        "if not os.path.exists('/gcs/flags/begun'):\n"
        "    import time\n"
        "    open('/gcs/flags/begun', 'w').close()\n"
        "    time.sleep(600)\n"
    )
    fixture(emulator).set_contract("documented")
    name = emulator.create(pool(again))
    eventually((emulator.flags / "begun").exists)
    fixture(emulator).set_contract("observed")
    fixture(emulator).kill_replica(name, "workerpool0-0")
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    first, second = (
        json.loads(json.loads(line)["CLUSTER_SPEC"])["job"]
        for line in emulator.printed(name)
        if line.startswith("{")
    )
    assert first == second == emulator.get(name)["jobSpec"]


def test_a_trial_gets_it_too(emulator: JobEmulator) -> None:
    fixture(emulator).set_contract("documented")
    done = emulator.wait(create_tuning_job(emulator, pool(f"{TELL}\n{QUICK}"), trials=1))
    (trial,) = done["trials"]
    spec = json.loads(environment_of(emulator, trial["customJob"])["CLUSTER_SPEC"])
    assert spec["job"] == emulator.get(trial["customJob"])["jobSpec"]


def test_a_new_emulator_has_the_observed_form(emulator: JobEmulator) -> None:
    assert emulator.call("GET", "/_local/contract").json() == {"contract": "observed"}


def test_the_setting_is_shown(setting: JobEmulator) -> None:
    fixture(setting).set_contract("documented")
    assert fixture(setting).control.contract() == "documented"


def test_a_reset_forgets_it(setting: JobEmulator) -> None:
    fixture(setting).set_contract("documented")
    fixture(setting).reset()
    assert fixture(setting).control.contract() == "observed"


@pytest.mark.parametrize("value", [None, 1, "Documented", ["observed"]])
def test_a_setting_that_is_neither(setting: JobEmulator, value: object) -> None:
    answer = setting.call("PUT", "/_local/contract", {"contract": value})
    assert (answer.status, answer.json()["error"]["message"]) == (
        400,
        "contract must be observed or documented.",
    )
