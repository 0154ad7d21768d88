"""The environment of a real replica: nothing of the host's, everything of the contract's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.job_emulator import SLEEP, JobEmulator, job_id, pool, running_jobs, wait_for_flags
from vertex_training.emulator.jobs.sandbox import Sandbox
from vertex_training.emulator.metadata.places import REDIRECT, replica_variables
from vertex_training.environment.replica import replica_environment
from vertex_training.specs import custom_job

TELL = "import json, os; print(json.dumps(dict(os.environ)))"
OURS = {"PATH", "HOME", "LANG", "TMPDIR", "PYTHONUNBUFFERED", "OMP_NUM_THREADS", "no_proxy", "NO_PROXY"}


def test_each_replica_gets_the_environment_of_the_contract(
    emulator: JobEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "/of/the/host")
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)-$(CLOUD_ML_JOB_ID)-$$(A)-$(NONE)"}]
    tell_and_wait = f"{TELL}\n{wait_for_flags('1', '2', '3')}"
    tell = TELL + "\nopen('/gcs/flags/' + os.environ.get('RANK', '3'), 'w')"
    name = emulator.create(
        pool(tell_and_wait, env=env),
        pool(tell, replicas=2),
        {},
        pool(tell),
        baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
    )
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    found = emulator.get(name)
    tasks = ["workerpool0-0", "workerpool1-0", "workerpool1-1", "workerpool3-0"]
    told = {task: json.loads(emulator.said(name, task)[0]) for task in tasks}
    cluster = json.loads(told["workerpool0-0"]["CLUSTER_SPEC"])["cluster"]
    addresses = [cluster.get(f"workerpool{index}", []) for index in range(4)]
    assert len({address for each in addresses for address in each}) == 4
    assert all(address.startswith("127.0.0.1:") for each in addresses for address in each)
    spec = custom_job.from_wire(found)
    for task, environment in told.items():
        expected = replica_environment(
            pools=spec.worker_pool_specs,
            addresses=addresses,
            pool=int(task[10]),
            index=int(task[12:]),
            job_id=job_id(name),
            project_number=name.split("/")[1],
            location="us-central1",
            base_output_directory="gs://b/out/",
        )
        rest = {key: value for key, value in environment.items() if key not in (*OURS, "LC_CTYPE", "PWD")}
        daemon = emulator.daemon
        google = {**replica_variables(daemon.url, daemon.token, "local"), "PYTHONPATH": str(REDIRECT)}
        assert rest == {**expected, **google}
        assert environment["no_proxy"] == environment["NO_PROXY"] == "127.0.0.1,localhost"
        assert environment["OMP_NUM_THREADS"] == str(max(1, (os.cpu_count() or 1) // 4))
        assert Path(environment["HOME"]).is_relative_to(emulator.folder(name) / "replicas" / task)
    assert told["workerpool0-0"]["B"] == f"1-{job_id(name)}-$(A)-$(NONE)"


def test_arguments_refer_to_variables(emulator: JobEmulator) -> None:
    code = "import sys; print(sys.argv[1:])"
    args = ["$(A)", "--out=$(AIP_MODEL_DIR)", "$$(A)", "$(HOME)", "a b; $(not", ""]
    name = emulator.create(
        pool(code, args=args, env=[{"name": "A", "value": "x"}]),
        baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
    )
    emulator.wait(name)
    assert emulator.said(name) == ["['x', '--out=gs://b/out/model/', '$(A)', '$(HOME)', 'a b; $(not', '']"]


def test_a_single_replica_is_the_chief_and_has_no_tf_config(emulator: JobEmulator) -> None:
    name = emulator.create(pool(TELL))
    emulator.wait(name)
    environment = json.loads(emulator.said(name)[0])
    assert list(json.loads(environment["CLUSTER_SPEC"])["cluster"]) == ["chief"]
    assert not {"TF_CONFIG", "RANK"} & set(environment)


def test_variables_for_every_replica_and_a_proxy_of_the_jobs_own(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(
        tmp_path, sandbox=sandbox, environment={"STORAGE_EMULATOR_HOST": "http://x"}
    ) as emulator:
        env = [{"name": "no_proxy", "value": "intranet"}, {"name": "PATH", "value": "/nowhere:/usr/bin"}]
        name = emulator.create(pool(command=["/usr/bin/env"], env=env))
        emulator.wait(name)
        said = emulator.said(name)
        assert "STORAGE_EMULATOR_HOST=http://x" in said
        assert "no_proxy=intranet,127.0.0.1,localhost" in said
        assert "PATH=/nowhere:/usr/bin" in said


def test_names_of_the_jobs_machines_resolve(emulator: JobEmulator) -> None:
    code = (
        "import os, socket\n"
        "assert socket.gethostname() == os.environ['HOSTNAME']\n"
        "print(socket.gethostbyname(os.environ['HOSTNAME']))\n"
        "print(socket.gethostbyname(os.environ['HOSTNAME'].replace('pool0', 'pool1')))"
    )
    name = emulator.create(pool(code), pool(SLEEP))
    emulator.wait(name)
    assert emulator.said(name) == ["127.0.0.1", "127.0.0.1"]
