"""CLUSTER_SPEC of real replicas in both forms: as real jobs get it, and as the documentation has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from support.job_emulator import JobEmulator, job_id, pool, wait_for_flags
from support.tuning import QUICK
from support.tuning import create as create_tuning_job
from support.waiting import eventually
from vertex_training.emulator.jobs.plan import Plan
from vertex_training.environment.replica import Contract, job_environments
from vertex_training.specs import custom_job
from vertex_training.testing.emulator import VertexEmulator

CONTRACTS = get_args(Contract)
TELL = "import json, os; print(json.dumps(dict(os.environ)))"
RAISE = f"{TELL}\nopen('/gcs/flags/' + os.environ['RANK'], 'w').close()"


def fixture(emulator: JobEmulator) -> VertexEmulator:
    """What a test of a user's has."""
    return VertexEmulator(
        host=emulator.daemon.url,
        token=emulator.daemon.token,
        storage_host="",
        data_dir=emulator.data_dir,
        project="local",
        location="us-central1",
        environment={},
    )


def told(emulator: JobEmulator, name: str, task: str = "workerpool0-0") -> dict[str, str]:
    """The environment that a replica printed first."""
    found: dict[str, str] = json.loads(emulator.said(name, task)[0])
    return found


@pytest.fixture
def setting(idle: JobEmulator) -> Iterator[JobEmulator]:
    yield idle
    fixture(idle).set_contract("observed")


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    "pools",
    [
        pytest.param([pool(TELL, env=[{"name": "A", "value": "$(CLUSTER_SPEC)"}])], id="alone"),
        pytest.param(
            [pool(f"{TELL}\n{wait_for_flags('1', '2')}"), pool(RAISE, replicas=2)], id="distributed"
        ),
    ],
)
def test_replicas_get_what_is_explained(
    emulator: JobEmulator, contract: Contract, pools: list[dict[str, Any]]
) -> None:
    fixture(emulator).set_contract(contract)
    name = emulator.create(
        *pools, labels={"a": "b"}, baseOutputDirectory={"outputUriPrefix": "gs://flags/out"}
    )
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    cluster = json.loads(told(emulator, name)["CLUSTER_SPEC"])["cluster"]
    explained = job_environments(
        custom_job.from_wire(emulator.get(name)),
        contract=contract,
        job_id=job_id(name),
        project_number=name.split("/")[1],
        location="us-central1",
        addresses=list(cluster.values()),
    )
    for each in explained:
        expected = each.as_variables()
        found = told(emulator, name, each.name)
        assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(("contract", "kind"), [("observed", str), ("documented", dict)])
def test_the_form_of_the_job(emulator: JobEmulator, contract: Contract, kind: type) -> None:
    """Said apart from our own environment, which the test above compares with."""
    fixture(emulator).set_contract(contract)
    name = emulator.create(pool(TELL))
    emulator.wait(name)
    assert type(json.loads(told(emulator, name)["CLUSTER_SPEC"])["job"]) is kind


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
        for line in emulator.said(name)
        if line.startswith("{")
    )
    assert first == second == emulator.get(name)["jobSpec"]


def test_a_trial_gets_it_too(emulator: JobEmulator) -> None:
    fixture(emulator).set_contract("documented")
    done = emulator.wait(create_tuning_job(emulator, pool(f"{TELL}\n{QUICK}"), trials=1))
    (trial,) = done["trials"]
    spec = json.loads(told(emulator, trial["customJob"])["CLUSTER_SPEC"])
    assert spec["job"] == emulator.get(trial["customJob"])["jobSpec"]


def test_a_plan_of_an_earlier_version_is_of_the_observed_form(emulator: JobEmulator) -> None:
    fixture(emulator).set_contract("documented")
    name = emulator.create(pool("pass"))
    emulator.wait(name)
    document = json.loads((emulator.folder(name) / "plan.json").read_text())
    assert document.pop("contract") == "documented"
    assert Plan.from_json(document).contract == "observed"


def test_a_new_emulator_has_the_observed_form(emulator: JobEmulator) -> None:
    assert emulator.call("GET", "/_local/contract").json() == {"contract": "observed"}


def test_the_setting_is_told(setting: JobEmulator) -> None:
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
        "contract has to be observed or documented.",
    )
